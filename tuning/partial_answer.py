"""The best answer so far of a task that may be killed: the child writes it, and whoever killed the child reads it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["keep", "kept"]

_NAME = "best.json"


def keep(payload: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Write an answer to the task's output folder, if it has one. A kill at any moment leaves a complete file."""
    if "output" not in payload:
        return
    path = Path(payload["output"], _NAME)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(answer))
    os.replace(unfinished, path)


def kept(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """The answer that a task left, or None."""
    if _NAME not in files:
        return None
    answer: dict[str, Any] = json.loads(files[_NAME])
    return answer
