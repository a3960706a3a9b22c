"""Outcome: how a candidate, or one step of it, ended, and who caused it. The only such list for all folders.

::

    measured  compiled  solved                               no failure: as far as this machine can get
    not_applicable  reference_failed  contended              no failure: nothing was learnt about the candidate
    cancelled  skipped  proposed
    refused  not_honoured  wrong_result  compile_failed      the candidate's own: remembered as a negative result
    over_resource  launch_failed  timed_out  crashed
    device_lost  infrastructure                              ours: retried, with a limit
"""

from enum import StrEnum

__all__ = ["FAULTS", "Fault", "Outcome"]


class Outcome(StrEnum):
    """How it ended. A closed list, stored by name in databases, documents and bundles: append only."""

    MEASURED = "measured"
    COMPILED = "compiled"
    """Built and read back, but not timed: no device of this profile was available."""
    SOLVED = "solved"
    """Verified, but not built: no compiler for the target was available, or only a schedule was requested."""
    REFUSED = "refused"
    """A rule refused it: a schedule before it was lowered, or a build whose code breaks the rule. It was never run."""
    NOT_HONOURED = "not_honoured"
    WRONG_RESULT = "wrong_result"
    REFERENCE_FAILED = "reference_failed"
    COMPILE_FAILED = "compile_failed"
    OVER_RESOURCE = "over_resource"
    LAUNCH_FAILED = "launch_failed"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    DEVICE_LOST = "device_lost"
    NOT_APPLICABLE = "not_applicable"
    CONTENDED = "contended"
    """Another process used the device while it was timed; such a time never wins and is never cached."""
    INFRASTRUCTURE = "infrastructure"
    """A failure of Warpwright or the machine (child killed for memory, protocol broken): says nothing about the candidate."""
    SKIPPED = "skipped"
    """The budget ended or the job was cancelled before it was built."""
    CANCELLED = "cancelled"
    """A step that was stopped from outside while it ran. A candidate never ends so: it keeps its outcome from before."""
    PROPOSED = "proposed"
    """Chosen, but not tried yet; never the outcome of an ended candidate."""

    @property
    def fault(self) -> "Fault":
        """Who caused it."""
        return FAULTS[self]

    @property
    def remembered(self) -> bool:
        """Whether it may be stored against the candidate, as a negative result."""
        return self.fault is Fault.CANDIDATE

    @property
    def retried(self) -> bool:
        """Whether the same work should be tried again."""
        return self.fault is Fault.INFRASTRUCTURE

    @property
    def usable(self) -> bool:
        """Whether the candidate may be the answer: measured, or as far as this machine can take it."""
        return self in (Outcome.MEASURED, Outcome.COMPILED, Outcome.SOLVED)

    @property
    def built(self) -> bool:
        """Whether there is a binary (or source, for targets without a compiler) that honours the plan."""
        return self in (Outcome.MEASURED, Outcome.COMPILED)


class Fault(StrEnum):
    """Who causes an outcome."""

    NONE = "none"
    CANDIDATE = "candidate"
    INFRASTRUCTURE = "infrastructure"


FAULTS: dict[Outcome, Fault] = {
    Outcome.MEASURED: Fault.NONE,
    Outcome.COMPILED: Fault.NONE,
    Outcome.SOLVED: Fault.NONE,
    Outcome.REFUSED: Fault.CANDIDATE,
    Outcome.NOT_HONOURED: Fault.CANDIDATE,
    Outcome.WRONG_RESULT: Fault.CANDIDATE,
    Outcome.REFERENCE_FAILED: Fault.NONE,
    Outcome.COMPILE_FAILED: Fault.CANDIDATE,
    Outcome.OVER_RESOURCE: Fault.CANDIDATE,
    Outcome.LAUNCH_FAILED: Fault.CANDIDATE,
    Outcome.TIMED_OUT: Fault.CANDIDATE,
    Outcome.CRASHED: Fault.CANDIDATE,
    Outcome.DEVICE_LOST: Fault.INFRASTRUCTURE,
    Outcome.NOT_APPLICABLE: Fault.NONE,
    Outcome.CONTENDED: Fault.NONE,
    Outcome.INFRASTRUCTURE: Fault.INFRASTRUCTURE,
    Outcome.SKIPPED: Fault.NONE,
    Outcome.CANCELLED: Fault.NONE,
    Outcome.PROPOSED: Fault.NONE,
}
"""Every outcome has an entry."""
