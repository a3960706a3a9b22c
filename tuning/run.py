"""The state of one tuning while it runs: its inputs, what has ended, and how much time is left for each phase."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from warpwright.lowering.measure.protocol import GPU_1
from warpwright.solver.domain import Candidate, Outcome
from warpwright.tuning.events import CandidateEnded, Event
from warpwright.tuning.measure.session_time import essential_seconds, planned_seconds
from warpwright.tuning.partial_reasons import UNMEASURED
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.toolchain import Patience, Stop, Toolchain

__all__ = ["TuningRun"]

MEASURE_SHARE = 0.5
"""Largest share of the wall time that is reserved for measuring: a session without builds is of no use either."""

SOLVE_SHARE = 0.4
"""Largest share of the time that is left for solving if the answer is to be measured: a proposal that nobody has the time
to build and to time is of no use either. A search that is cut leaves the best that it had.
"""


@dataclass(slots=True)
class TuningRun:
    """State of one tuning."""

    request: TuneRequest
    toolchain: Toolchain
    emit: Callable[[Event], None]
    stop: Stop
    deadline: float
    measures: bool
    """Whether a device was available when the tuning began."""
    latest_start: Callable[[], float]
    """When measuring must begin so that all sessions that want the device end in time, on the monotonic clock."""
    records: dict[str, Candidate] = field(default_factory=dict)
    total: int = 0
    cut: bool = False
    """Candidates were left unbuilt so that the built ones can be measured."""
    missed: str = ""
    """Why a whole session gave no result."""

    def patience(self, seconds: float) -> Patience:
        """The time limit of a step with this many seconds of its own."""
        return Patience(seconds=seconds, deadline=self.deadline, stop=self.stop)

    def solve_patience(self) -> Patience:
        """The time limit of the search for proposals."""
        seconds = self.request.budget.solve_seconds
        if self.measures:
            seconds = min(seconds, SOLVE_SHARE * max(0.0, self.deadline - time.monotonic()))
        return self.patience(seconds)

    def over(self) -> bool:
        """Whether no further step may begin."""
        if time.monotonic() >= self.deadline:
            self.stop.raise_flag("budget")
        return self.stop.is_raised()

    def building_is_over(self, *, essential: bool = False) -> bool:
        """Whether the remaining time is reserved for measuring what was built; ``essential`` plans leave only the
        time of a small session.
        """
        return self.over() or time.monotonic() >= self._build_until(essential)

    def ended(self, record: Candidate) -> None:
        """Keep an ended candidate, and report it."""
        self.records[record.id] = record
        self.emit(CandidateEnded(record, done=len(self.records), total=self.total))

    def unmeasured(self) -> tuple[Candidate, ...]:
        """What should have been measured and was not."""
        return tuple(record for record in self.records.values() if record.outcome is Outcome.COMPILED)

    def why_unmeasured(self) -> str:
        """One of ``partial_reasons.UNMEASURED``, or another code of a session; empty if nothing is missing."""
        waiting = self.unmeasured()
        if not waiting:
            return ""
        codes = [record.failure.code for record in waiting if record.failure is not None]
        codes += [self.missed] if self.missed else []
        return next((code for code in UNMEASURED if code in codes), codes[0] if codes else "budget")

    def _build_until(self, essential: bool) -> float:
        if not self.measures:
            return self.deadline
        share = MEASURE_SHARE * self.request.budget.wall_seconds
        if essential:
            return self.deadline - min(share, essential_seconds(GPU_1, self.total))
        own = self.deadline - min(share, planned_seconds(GPU_1, self.total))
        return min(own, self.latest_start())
