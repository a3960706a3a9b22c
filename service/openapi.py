"""The committed OpenAPI document: ``python -m warpwright.service.openapi`` writes it, a test fails if it is out of date."""

import json
from pathlib import Path

from warpwright.service.app import create_app
from warpwright.service.settings import Settings

__all__ = ["PATH", "main", "text"]

PATH = Path(__file__).parent / "openapi.json"


def text() -> str:
    """The document as it is committed."""
    return json.dumps(create_app(Settings()).openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the committed document."""
    PATH.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
