"""The verdict on a schedule without any engine: the families' closed forms and the replay of every cycle must both agree."""

from warpwright.solver.domain.verdict import Violation
from warpwright.solver.modulo.families import FAMILIES
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule
from warpwright.solver.modulo.replay import replay
from warpwright.solver.modulo.schedule_reader import ModuloReading

__all__ = ["verify"]


def verify(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[Violation, ...]:
    """Every broken rule; empty for a legal schedule. The replay's findings come first."""
    found = replay(problem, schedule)
    if any(violation.rule in ("complete", "one-group") for violation in found):
        return found
    reading = ModuloReading(problem, schedule)
    return (*found, *(violation for family in FAMILIES for violation in family.check(reading)))
