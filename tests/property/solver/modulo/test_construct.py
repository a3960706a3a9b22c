"""The constructive search on random problems: what it returns verifies, and it never claims less than is possible."""

from dataclasses import replace
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property.solver.modulo.test_agreement import MOST, problems
from tests.unit.solver.modulo.tiny import least_interval
from warpwright.solver.modulo import (
    Group,
    ModuloEdge,
    ModuloMemory,
    ModuloOp,
    ModuloProblem,
    ModuloSchedule,
    ModuloUnit,
    ModuloWait,
    Use,
    solve,
    verify,
)
from warpwright.solver.modulo.bounds import impossible, lower_bounds
from warpwright.solver.modulo.construct import construct
from warpwright.solver.modulo.construct.insertion import Insertion
from warpwright.solver.modulo.construct.partial import Partial
from warpwright.solver.modulo.construct.shape import Shape, longest_paths, meets_itself
from warpwright.solver.modulo.replay import replay

USUAL = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WORK = 40


@st.composite
def loops(draw: st.DrawFn) -> ModuloProblem:
    """Three to fourteen operations with every feature of the form: shared units, offsets, groups, pins, all waits."""
    rng = Random(draw(st.integers(0, 2**32)))
    count = rng.randint(3, 14)
    units = tuple(ModuloUnit(name, rng.randint(1, 3)) for name in "uvw")
    groups = tuple(Group(f"g{i}", rng.choice((4, 8)), rng.randint(8, 24)) for i in range(rng.randint(0, 3)))
    streams = (Group("s", 1, 16, variable_latency=True),) if groups else ()
    ops = []
    for index in range(count):
        stream = bool(groups) and rng.random() < 0.15
        uses = []
        for _ in range(rng.randint(0, 2)):
            unit = rng.choice(units)
            uses.append(Use(unit.name, rng.randint(0, 9), rng.randint(0, 4), rng.randint(1, unit.capacity)))
        pin = (rng.choice(groups).name,) if groups and not stream and rng.random() < 0.2 else ()
        held = (("m", rng.randint(0, 3)), ("n", rng.randint(0, 2)))
        registers = rng.randint(0, 6) if groups else 0
        ops.append(
            ModuloOp(f"o{index}", rng.randint(0, 9), tuple(uses), 1, registers, held, rng.randint(0, 5), stream, pin)
        )
    edges = []
    for _ in range(rng.randint(1, 2 * count)):
        source, target = rng.randrange(count), rng.randrange(count)
        distance = rng.randint(0, 2) if source < target else rng.randint(1, 2)
        wait, hold = rng.choice(tuple(ModuloWait)), rng.choice((0, 0, 4))
        edges.append(
            ModuloEdge(f"o{source}", f"o{target}", rng.randint(0, 9), distance, wait, rng.random() < 0.8, hold)
        )
    memories = (ModuloMemory("m", rng.randint(4, 20)), ModuloMemory("n", rng.randint(3, 12)))
    return ModuloProblem("loop", units, tuple(ops), tuple(edges), memories, (*groups, *streams), rng.randint(1, 4))


@USUAL
@given(loops(), st.integers(0, 30), st.integers(0, 3))
def test_what_it_builds_verifies_at_the_interval_asked_for(problem: ModuloProblem, above: int, seed: int) -> None:
    if impossible(problem):
        return
    interval = lower_bounds(problem)[0].cycles + above
    schedule, work = construct(problem, interval, limit=WORK, seed=seed)
    assert work >= 1
    if schedule is not None:
        assert schedule.interval == interval
        assert verify(problem, schedule) == ()
    assert construct(problem, interval, limit=WORK, seed=seed) == (schedule, work)


@USUAL
@given(problems(), st.integers(1, MOST))
def test_it_never_builds_what_the_enumeration_excludes(problem: ModuloProblem, interval: int) -> None:
    if impossible(problem) or interval < lower_bounds(problem)[0].cycles:
        return
    schedule, _ = construct(problem, interval, limit=WORK)
    expected = least_interval(problem, MOST)
    if schedule is not None:
        assert expected is not None
        assert interval >= expected


@USUAL
@given(loops(), st.integers(0, 20), st.randoms(use_true_random=False))
def test_every_rule_holds_among_what_is_placed_at_any_moment(problem: ModuloProblem, above: int, rng: Random) -> None:
    if impossible(problem):
        return
    interval = lower_bounds(problem)[0].cycles + above
    shape = Shape.of(problem)
    if meets_itself(shape, interval):
        return
    partial = Partial(shape, interval, longest_paths(shape, interval))
    order = list(range(len(problem.ops)))
    rng.shuffle(order)
    insertion = Insertion(partial, order, Random(0))
    for _ in range(2 * len(order)):
        if not insertion.step():
            break
        assert _broken(problem, partial) == []


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_with_and_without_it_the_optimum_is_the_same(problem: ModuloProblem) -> None:
    built, searched = solve(problem, polish=False), solve(problem, polish=False, constructive=False)
    assert (built.status, built.bound.cycles) == (searched.status, searched.bound.cycles)
    assert searched.engine == "cpsat"
    assert all(attempt.engine == "cpsat" for attempt in searched.attempts)


def _broken(problem: ModuloProblem, partial: Partial) -> list[str]:
    """Rules broken among the placed operations, by the replay of the problem that has no others.

    A drained edge from an operation that is not there still makes its consumer wait; the smaller problem knows less.
    """
    starts = {op.id: at for op, at in zip(problem.ops, partial.start, strict=True) if at is not None}
    if not starts:
        return []
    ops = tuple(op for op in problem.ops if op.id in starts)
    edges = tuple(edge for edge in problem.edges if edge.source in starts and edge.target in starts)
    first = min(starts.values())
    groups = {}
    if problem.groups:
        numbers = dict(zip((op.id for op in problem.ops), partial.group, strict=True))
        groups = {op.id: problem.groups[numbers[op.id]].name for op in ops}
    schedule = ModuloSchedule(partial.interval, {op: at - first for op, at in starts.items()}, groups)
    return [violation.message for violation in replay(replace(problem, ops=ops, edges=edges), schedule)]
