"""The published JSON Schema of problems: ``python -m warpwright.solver.modulo.json_schema`` writes it, a test compares it."""

import json
from pathlib import Path

from warpwright.solver.modulo.document import json_schema

__all__ = ["PATH", "main", "text"]

PATH = Path(__file__).with_name("schema.json")


def text() -> str:
    """The schema as it is committed."""
    return json.dumps(json_schema(), indent=1) + "\n"


def main() -> None:
    """Write the committed schema."""
    PATH.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
