"""The stand-in's task for children."""

import time
from typing import Any

__all__ = ["step"]


def step(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.step``: takes its time and says so; leaves a file where an output folder is given."""
    time.sleep(float(payload["seconds"]))
    if payload.get("output"):
        with open(f"{payload['output']}/step.txt", "w", encoding="utf-8") as file:
            file.write("done\n")
    return {"seconds": payload["seconds"]}
