"""Capabilities: what a worker can do, one queue for each. A task goes to the queue of the capability that it needs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.solver.domain import WarpwrightError

__all__ = ["QUEUES", "SESSION", "SOLVER_TASKS", "UnknownCapability", "checked", "measuring", "queue_of"]

QUEUES = ("solve", "frontend", "compile.cuda", "compile.ascend")
"""Capabilities of any machine with the compilers; ``measure.<profile>`` comes from the machine's own devices."""

SESSION = "measure.session"
"""The task of a whole measuring session; its payload's ``profile`` names the device that it needs."""

_MEASURE = re.compile(r"measure\.[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
SOLVER_TASKS = ("propose.", "solve.", "explain.", "recheck.")
"""What the names of tasks begin with that import a constraint engine: they have a queue and children of their own."""
_STAND_IN = {
    "stand_in.propose": "solve",
    "stand_in.solve": "solve",
    "stand_in.explain": "solve",
    "stand_in.compile": "compile.cuda",
}


class UnknownCapability(WarpwrightError):
    """There is no capability with this name."""

    code = "capability-unknown"


def measuring(profile: str) -> str:
    """The capability of measuring on the device that a profile describes."""
    return f"measure.{profile}"


def queue_of(task: str, payload: Mapping[str, Any]) -> str:
    """The queue of a task: what a worker must be able to do."""
    if task == SESSION:
        return measuring(str(payload["profile"]))
    if task.startswith(SOLVER_TASKS):
        return "solve"
    return _STAND_IN.get(task) or (task if task in QUEUES else "frontend")


def checked(capabilities: Sequence[str]) -> tuple[str, ...]:
    """The capabilities, each once.

    Raises:
        UnknownCapability: one is neither in ``QUEUES`` nor ``measure.<profile>``.
    """
    for capability in capabilities:
        if capability not in QUEUES and not _MEASURE.fullmatch(capability):
            known = ", ".join((*QUEUES, "measure.<profile>"))
            raise UnknownCapability(f"there is no capability {capability!r}; choose from {known}", place=capability)
    if not capabilities:
        raise UnknownCapability("a worker without a capability would never work", place="--capabilities")
    return tuple(dict.fromkeys(capabilities))
