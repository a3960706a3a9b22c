"""The boundary of an Ascend family: an answer just inside its rule and one just outside, for ``check`` and for ``build``.

``check`` must name the rule of the outer one and no other. ``build`` must agree: in the network that both the exact search
and the engines read, with start times and version counts fixed, the inner one is feasible and the outer one is not, and it is
again in the network without the family.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.encoding import Arc, Network
from warpwright.solver.ascend.families import FAMILIES, check_answer
from warpwright.solver.ascend.modelled import model_at
from warpwright.solver.ascend.problem import PIPE_BITS, LoopProblem, MemoryGroup, Problem, StraightProblem
from warpwright.solver.ascend.search import Search
from warpwright.solver.engines import Budget, EngineStatus, engine

__all__ = ["Boundary", "Situation", "assert_built", "assert_checked", "ring", "straight", "two_tasks"]


@dataclass(frozen=True)
class Situation:
    """A scheduler call's problem with an answer."""

    problem: Problem
    answer: SchedulerAnswer

    def at(self, *starts: int) -> "Situation":
        """With other start times."""
        return replace(self, answer=replace(self.answer, starts=starts))

    def counts(self, *versions: int) -> "Situation":
        """With other version counts."""
        return replace(self, answer=replace(self.answer, versions=versions))

    def codes(self) -> set[str]:
        """``family/rule`` of every violation."""
        return {f"{violation.family}/{violation.rule}" for violation in check_answer(self.problem, self.answer)}


@dataclass(frozen=True)
class Boundary:
    """One rule with a situation on each side; ``said`` is False where the network has no words for the outer one."""

    family: str
    rule: str
    legal: Callable[[], Situation]
    broken: Callable[[], Situation]
    about: str = ""
    said: bool = True

    def __str__(self) -> str:
        return "-".join((self.rule, *self.about.split()))


def assert_checked(boundary: Boundary) -> None:
    """``check`` accepts one side and names just this rule on the other."""
    assert boundary.legal().codes() == set()
    assert boundary.broken().codes() == {f"{boundary.family}/{boundary.rule}"}


def assert_built(boundary: Boundary) -> None:
    """``build`` leaves room for one side and none for the other."""
    assert _feasible(boundary.legal())
    broken = boundary.broken()
    assert not _feasible(broken)
    assert _feasible(broken, without=boundary.family) is boundary.said


def _feasible(situation: Situation, without: str = "") -> bool:
    """Whether a network holds these start times and counts, maybe without one family."""
    problem, answer = situation.problem, situation.answer
    network = Network(problem)
    if isinstance(problem, LoopProblem):  # counts without the family that says how large they are
        network.sizes = list(problem.buffer_sizes)
        network.max_versions = [max((problem.num_stages, *answer.versions))] * problem.buffers
    for family in FAMILIES:
        if without != family.NAME:
            family.build(network)
    interval = answer.interval
    if interval is None:  # a list that runs once: an interval so long that nothing wraps around it
        interval = 10 * (max(answer.starts) + sum(problem.latencies) + sum(problem.iis))
        pairs = [(a, b) for a in range(network.tasks) for b in range(network.tasks) if a != b]
        network.arcs += [Arc(a, b, 1, 1, "horizon") for a, b in pairs]
    search = Search(network, interval)
    state = search.root(interval)
    if state is None:
        return False
    built = model_at(search, state, objective=False)
    if len(built.versions) != len(answer.versions):
        return False
    base = 0 if search.origin is not None else answer.starts[0]
    for variable, start in zip(built.starts, answer.starts, strict=True):
        built.model.equal(variable, start - base)
    for variable, count in zip(built.versions, answer.versions, strict=True):
        built.model.equal(variable, count)
    result = engine().solve(built.model, Budget())
    assert result.status in (EngineStatus.OPTIMAL, EngineStatus.INFEASIBLE), result.reason
    return result.status is EngineStatus.OPTIMAL


def ring(*, limit: int = 128, count: int = 2) -> Situation:
    """A load and a product over a buffer of 64 bytes: every 10 cycles, so that two copies are alive."""
    problem = LoopProblem(
        num_stages=2,
        latencies=(10, 10),
        iis=(4, 4),
        resource_flags=(PIPE_BITS["mte2"], PIPE_BITS["cube"]),
        data_deps=((0, 1, 0, 10), (1, 0, -1, 10)),
        resource_deps=(),
        buffer_sizes=(64,),
        memory_groups=(MemoryGroup("shared", limit, (0,)),),
    )
    return Situation(problem, SchedulerAnswer(10, (0, 10), (count,)))


def two_tasks(starts: tuple[int, int], interval: int = 10, **rules: object) -> Situation:
    """Two tasks of 4 issue cycles on one pipe of a loop, under these rules and no other."""
    flags = (PIPE_BITS["mte2"],) * 2
    plain = LoopProblem(2, (10, 10), (4, 4), flags, (), (), enable_offset=True)
    return Situation(replace(plain, **rules), SchedulerAnswer(interval, starts))  # type: ignore[arg-type]  # fields by name


def straight(*starts: int) -> Situation:
    """Two tasks of one pipe in a list that runs once, the first one first."""
    flags = (PIPE_BITS["mte2"],) * 2
    return Situation(
        StraightProblem((5, 5), (5, 5), flags, (), ((0, 1),), pipe_order_deps=((0, 1),)), SchedulerAnswer(None, starts)
    )
