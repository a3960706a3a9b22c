"""The state of one tuning while it runs: what is fixed, what has ended, and how much time is left for what."""

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
"""Of the wall time, at most so much is kept for measuring: a session over nothing is of no use either."""


@dataclass(slots=True)
class TuningRun:
    """State of one tuning."""

    request: TuneRequest
    toolchain: Toolchain
    emit: Callable[[Event], None]
    stop: Stop
    deadline: float
    measures: bool
    """Whether a device was there when the tuning began."""
    latest_start: Callable[[], float]
    """When measuring has to begin so that all who want the device end in time, on the monotonic clock."""
    records: dict[str, Candidate] = field(default_factory=dict)
    total: int = 0
    cut: bool = False
    """Candidates were left unbuilt so that the built ones can be measured."""
    missed: str = ""
    """Why a whole session came to nothing."""

    def patience(self, seconds: float) -> Patience:
        """How long a step may last that has so many seconds of its own."""
        return Patience(seconds=seconds, deadline=self.deadline, stop=self.stop)

    def over(self) -> bool:
        """Whether nothing more is begun."""
        if time.monotonic() >= self.deadline:
            self.stop.raise_flag("budget")
        return self.stop.is_raised()

    def building_is_over(self, *, essential: bool = False) -> bool:
        """Whether the rest of the time is kept for measuring what was built; ``essential`` plans leave a small session's."""
        return self.over() or time.monotonic() >= self._build_until(essential)

    def ended(self, record: Candidate) -> None:
        """Keep a candidate's end, and tell it."""
        self.records[record.id] = record
        self.emit(CandidateEnded(record, done=len(self.records), total=self.total))

    def unmeasured(self) -> tuple[Candidate, ...]:
        """What was to be measured and was not."""
        return tuple(record for record in self.records.values() if record.outcome is Outcome.COMPILED)

    def why_unmeasured(self) -> str:
        """One of ``partial_reasons.UNMEASURED``, or another code that a session gave; empty where nothing is missing."""
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
