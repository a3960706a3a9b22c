"""The time of a measuring session: its plan before it begins, and what was learnt while it ran.

A candidate costs about a second on an H200 (docs/decisions/0032-protocol-gpu-1.md); the rounds cost what their protocol says.
"""

import time
from collections.abc import Sequence

from warpwright.lowering.measure.protocol import Protocol

__all__ = ["ESSENTIAL", "SessionTime", "essential_seconds", "planned_seconds", "rounds_seconds"]

ESSENTIAL = 3
"""How many candidates, in order, are measured even if others wait: reference, the compiler's default, our best."""

START_SECONDS = 3.0
"""Time from the lease to the first candidate: a context, the canary, and what torch loads at its first use."""
CANDIDATE_SECONDS = 1.5
"""Expected time of one candidate before any was measured."""
LEAST_FOR_A_CANDIDATE = 5.0
"""No candidate's limit is shorter, however little time is left: a candidate that was begun may end."""
LEAST_FOR_ROUNDS = 30.0
ROUNDS_MARGIN = 1.5
"""Factor by which rounds take longer than their launches: flushes, the check at their end."""


def rounds_seconds(protocol: Protocol, count: int, median_ns: float = 0.0) -> float:
    """Time of interleaved rounds of this many candidates."""
    if not count:
        return 0.0
    visit = protocol.round_warmup_ms + protocol.rest_ms + protocol.runs_per_round * 2 * median_ns / 1e6
    finalists = min(count, protocol.finalists_maximum) * (protocol.warmup_ms + protocol.rounds * visit)
    screened = 0.0 if count <= protocol.finalists_maximum else count * protocol.screening_rounds * visit
    return ROUNDS_MARGIN * (finalists + screened) / 1e3


def planned_seconds(protocol: Protocol, count: int) -> float:
    """Time of a session over this many candidates."""
    return START_SECONDS + CANDIDATE_SECONDS * count + rounds_seconds(protocol, count)


def essential_seconds(protocol: Protocol, count: int) -> float:
    """Minimum time of a session: the essential ones of this many candidates."""
    return planned_seconds(protocol, min(count, ESSENTIAL))


class SessionTime:
    """The clock of one session. ``deadline`` on the monotonic clock."""

    def __init__(self, protocol: Protocol, deadline: float) -> None:
        self.deadline = deadline
        self._protocol = protocol
        self._spent: list[float] = []

    def left(self) -> float:
        """Seconds to the deadline, never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def took(self, seconds: float) -> None:
        """Records how long a candidate took."""
        self._spent.append(seconds)

    def allows(self, medians_ns: Sequence[float], until: float) -> bool:
        """Whether one more candidate and the rounds of all can end by then; the first one only needs to begin by then."""
        now = time.monotonic()
        if not self._spent:
            return now < until
        candidate = sum(self._spent) / len(self._spent)
        typical = sum(medians_ns) / len(medians_ns) if medians_ns else 0.0
        return now + candidate + rounds_seconds(self._protocol, len(medians_ns) + 1, typical) <= until

    def for_candidate(self, begun: int) -> float:
        """The limit of the next candidate that leaves time for the rounds of those before it."""
        return max(LEAST_FOR_A_CANDIDATE, self.left() - rounds_seconds(self._protocol, begun + 1))

    def for_rounds(self, count: int, candidate_seconds: float) -> float:
        """The limit of the rounds: generous, because they began in time."""
        return max(LEAST_FOR_ROUNDS, candidate_seconds * count / 2)
