"""Only a device with TMA and mbarriers runs a warp schedule; on others TileLang silently drops it.

Source: TileLang 0.1.15 wheel, ``cuda/pipeline.py:27-36``; rule book 1.14.9.
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "target"


def build(enc: WarpEncoding) -> None:
    """No schedule at all on a device without TMA."""
    enc.model.at_least(linear(constant=int(enc.problem.device.tma)), 1, note="the device has TMA")


def check(reading: Reading) -> tuple[Violation, ...]:
    """Refuses every schedule on a device without TMA."""
    if reading.problem.device.tma:
        return ()
    return (Violation(NAME, "needs-tma", _message(reading.problem)),)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Whether the device supports warp schedules."""
    if reading is not None and problem.device.tma:
        return ()
    return (Fact("TMA units", int(problem.device.tma), None, "of the device", note=_message(problem)),)


def _message(problem: WarpProblem) -> str:
    has = "has" if problem.device.tma else "does not have"
    return f"{problem.device.arch} {has} TMA; TileLang ignores a warp schedule on a device without it"
