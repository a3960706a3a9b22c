"""How one step of a candidate ended: an outcome of the domain, with a message, details, and the exceeded resource.

``details`` are more specific stable words (``register_request_ignored``, ``spills``, ...).
"""

from dataclasses import dataclass

from warpwright.solver.domain import Outcome

__all__ = ["StepOutcome"]


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """How one step ended. ``resource``, ``needed`` and ``limit`` say which resource was exceeded, and by how much."""

    kind: Outcome
    message: str = ""
    details: tuple[str, ...] = ()
    resource: str = ""
    needed: int | None = None
    limit: int | None = None
