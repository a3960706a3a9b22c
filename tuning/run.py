"""The state of one tuning while it runs: what is fixed, what has ended, and how much time is left for what."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from warpwright.solver.domain import Candidate
from warpwright.tuning.events import CandidateEnded, Event
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.toolchain import Patience, Stop, Toolchain

__all__ = ["Run"]


@dataclass(slots=True)
class Run:
    """State of one tuning: its inputs, and what has ended so far."""

    request: TuneRequest
    toolchain: Toolchain
    emit: Callable[[Event], None]
    stop: Stop
    deadline: float
    build_until: float
    records: dict[str, Candidate]
    total: int = 0
    cut: bool = False
    """Candidates were left unbuilt so that the built ones can be measured."""

    def patience(self, seconds: float) -> Patience:
        """How long a step may last that has so many seconds of its own."""
        return Patience(seconds=seconds, deadline=self.deadline, stop=self.stop)

    def over(self) -> bool:
        """Whether nothing more is begun."""
        if time.monotonic() >= self.deadline:
            self.stop.raise_flag("budget")
        return self.stop.is_raised()

    def building_is_over(self) -> bool:
        """Whether the remaining time is reserved for measuring what was built."""
        return self.over() or time.monotonic() >= self.build_until

    def ended(self, record: Candidate) -> None:
        """Keep a candidate's end, and tell it."""
        self.records[record.id] = record
        self.emit(CandidateEnded(record, done=len(self.records), total=self.total))
