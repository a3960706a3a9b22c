"""The boundary of a modulo family: a schedule just inside its rule and one just outside, for ``check`` and for ``build``.

``check`` must name the rule of the outer one and no other, and the replay must blame the same family. ``build`` must agree:
with interval, issue cycles and groups fixed, an engine finds the inner one feasible and the outer one infeasible, and
feasible again without the family's constraints.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from warpwright.solver.engines import Budget, EngineStatus, engine
from warpwright.solver.modulo import ModuloProblem, ModuloSchedule, verify
from warpwright.solver.modulo.encoding import pivot
from warpwright.solver.modulo.families import FAMILIES
from warpwright.solver.modulo.replay import replay
from warpwright.solver.modulo.run import encode
from warpwright.solver.modulo.schedule_reader import ModuloReading

__all__ = ["Boundary", "Situation", "assert_built", "assert_checked"]


@dataclass(frozen=True)
class Situation:
    """A problem with a schedule."""

    problem: ModuloProblem
    schedule: ModuloSchedule

    def at(self, **starts: int) -> "Situation":
        """With other issue cycles."""
        return replace(self, schedule=replace(self.schedule, starts={**self.schedule.starts, **starts}))

    def on(self, **groups: str) -> "Situation":
        """With other groups."""
        return replace(self, schedule=replace(self.schedule, groups={**self.schedule.groups, **groups}))

    def codes(self) -> set[str]:
        """``family/rule`` of everything that the families' closed forms refuse."""
        found = (
            violation for family in FAMILIES for violation in family.check(ModuloReading(self.problem, self.schedule))
        )
        return {f"{violation.family}/{violation.rule}" for violation in found}


@dataclass(frozen=True)
class Boundary:
    """One rule with a situation on each side."""

    family: str
    rule: str
    legal: Callable[[], Situation]
    broken: Callable[[], Situation]
    about: str = ""

    def __str__(self) -> str:
        return "-".join((self.rule, *self.about.split()))


def assert_checked(boundary: Boundary) -> None:
    """``check`` and the replay accept one side; on the other ``check`` names just this rule, and the replay this family."""
    legal, broken = boundary.legal(), boundary.broken()
    assert verify(legal.problem, legal.schedule) == ()
    assert broken.codes() == {f"{boundary.family}/{boundary.rule}"}
    assert {violation.family for violation in replay(broken.problem, broken.schedule)} == {boundary.family}


def assert_built(boundary: Boundary) -> None:
    """``build`` leaves room for one side and none for the other."""
    assert _feasible(boundary.legal())
    broken = boundary.broken()
    assert not _feasible(broken)
    assert _feasible(broken, without=boundary.family)


def _feasible(situation: Situation, without: str = "") -> bool:
    """Whether interval, issue cycles and groups are feasible, maybe without one family."""
    problem, schedule = situation.problem, situation.schedule
    encoding = encode(problem, schedule.interval, schedule.interval)
    model, first = encoding.model, pivot(problem)
    for op in problem.ops:
        later = schedule.starts[op.id] - schedule.starts[first.id]
        if op.id != first.id:
            model.equal(encoding.time(op) - encoding.time(first), later)
        for group in problem.candidates(op):
            literal = encoding.on[op.id, group.name]
            model.any_of([literal if schedule.groups.get(op.id) == group.name else literal.negated()])
    model.constraints = [constraint for constraint in model.constraints if constraint.family != without]
    model.objectives = []
    result = engine().solve(model, Budget())
    assert result.status in (EngineStatus.OPTIMAL, EngineStatus.INFEASIBLE), result.reason
    return result.status is EngineStatus.OPTIMAL
