"""Only a device with TMA and mbarriers runs a warp schedule; elsewhere TileLang drops it without a word.

Source: TileLang 0.1.15 wheel, ``cuda/pipeline.py:27-36``; rule book 1.14.9.
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import linear
from warpwright.solver.warp.encoding import Encoding
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "target"


def build(enc: Encoding) -> None:
    """No schedule at all on a device without TMA."""
    enc.model.at_least(linear(constant=int(enc.problem.device.tma)), 1, note="the device has TMA")


def check(reading: Reading) -> tuple[Violation, ...]:
    """Refuses every schedule on a device without TMA."""
    if reading.problem.device.tma:
        return ()
    return (Violation(NAME, "needs-tma", _message(reading.problem)),)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Whether the device takes warp schedules."""
    if reading is not None and problem.device.tma:
        return ()
    return (Fact("TMA units", int(problem.device.tma), None, "of the device", note=_message(problem)),)


def _message(problem: WarpProblem) -> str:
    has = "has" if problem.device.tma else "has no"
    return f"{problem.device.arch} {has} TMA; a warp schedule is ignored where there is none"
