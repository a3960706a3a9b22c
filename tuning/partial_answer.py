"""The best answer so far of a task that may be killed: the child writes it, whoever killed the child reads it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["keep", "kept"]

_NAME = "best.json"


def keep(payload: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Leave an answer in the task's output folder; nothing where it has none. A kill at any moment leaves a whole one."""
    if "output" not in payload:
        return
    path = Path(payload["output"], _NAME)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(answer))
    os.replace(unfinished, path)


def kept(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """The answer that a task left, None when it left none."""
    if _NAME not in files:
        return None
    answer: dict[str, Any] = json.loads(files[_NAME])
    return answer
