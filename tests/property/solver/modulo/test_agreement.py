"""On random tiny problems: enumeration of all schedules, CP-SAT and Z3 give one optimum, and every answer verifies."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property.solver.disagreement import Disagreement, disagree
from tests.unit.solver.modulo.tiny import least_interval, schedules, two_groups
from warpwright.solver.engines import Budget
from warpwright.solver.modulo import (
    Group,
    ModuloEdge,
    ModuloMemory,
    ModuloOp,
    ModuloProblem,
    ModuloUnit,
    ModuloWait,
    Use,
    solve,
    verify,
)
from warpwright.solver.modulo.bounds import lower_bounds
from warpwright.solver.modulo.document import parse_problem, problem_document
from warpwright.solver.modulo.families import FAMILIES
from warpwright.solver.modulo.replay import replay
from warpwright.solver.modulo.schedule_reader import ModuloReading

MOST = 7
"""Largest interval that the enumeration tries."""
SLOW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def problems(draw: st.DrawFn, *, most_ops: int = 3) -> ModuloProblem:
    """Two or three operations of a few cycles, one or two units, perhaps a memory, perhaps one or two groups."""
    count = draw(st.integers(2, most_ops))
    names = "abc"[:count]
    units = (ModuloUnit("u", 1), ModuloUnit("w", draw(st.integers(1, 2))))
    groups = tuple(Group(f"g{i}", 4, draw(st.integers(2, 4))) for i in range(draw(st.integers(0, 4 - count))))
    memories = (ModuloMemory("m", draw(st.integers(2, 3))),)
    ops = []
    for name in names:
        cycles = draw(st.integers(1, 2))
        use = Use(draw(st.sampled_from("uw")), cycles, draw(st.integers(0, 1)))
        held = (("m", draw(st.integers(0, 2))),)
        registers = draw(st.integers(0, 2)) if groups else 0
        ops.append(ModuloOp(name, cycles, (use,), 4, registers, held, draw(st.integers(0, 1))))
    edges = []
    for index in range(draw(st.integers(1, 4 - count + 1))):
        source, target = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        distance = draw(st.integers(0, 1)) if source < target else 1
        latency, hold = draw(st.integers(0, 2)), draw(st.integers(0, 1))
        edges.append(ModuloEdge(source, target, latency, distance, draw(st.sampled_from(ModuloWait)), index != 2, hold))
    return ModuloProblem("random", units, tuple(ops), tuple(edges), memories, groups, max_stages=2)


@SLOW
@given(problems())
def test_every_engine_finds_the_optimum_of_the_enumeration(problem: ModuloProblem) -> None:
    finds_the_optimum(problem)


def finds_the_optimum(problem: ModuloProblem) -> None:
    expected = least_interval(problem, MOST)
    for name in ("cpsat", "z3"):
        answer = solve(problem, engine_name=name)
        found = answer.schedule.interval if answer.schedule else MOST + 1
        if min(found, MOST + 1) != (expected or MOST + 1):
            families = sorted(
                {conflict.family for conflict in answer.conflicts}
                | {broken.family for broken in (verify(problem, answer.schedule) if answer.schedule else ())}
            )
            told = f"{name}: interval {found}, the enumeration: {expected}; families: {', '.join(families) or 'none'}"
            disagree("modulo", problem_document(problem), told)
        assert answer.status == ("proven_optimal" if answer.schedule else "infeasible")
        if answer.schedule:
            assert verify(problem, answer.schedule) == ()
            assert answer.length_proven


@SLOW
@given(problems(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_closed_forms_and_replay_agree_on_every_schedule(problem: ModuloProblem, interval: int, rng: object) -> None:
    for schedule in islice(schedules(problem, interval), 0, None, 7):
        replayed = {violation.family for violation in replay(problem, schedule)}
        checked = {
            violation.family for family in FAMILIES for violation in family.check(ModuloReading(problem, schedule))
        }
        assert checked == replayed


@SLOW
@given(problems())
def test_no_lower_bound_exceeds_the_optimum(problem: ModuloProblem) -> None:
    expected = least_interval(problem, MOST)
    if expected is not None:
        assert lower_bounds(problem)[0].cycles <= expected


@SLOW
@given(problems(), st.integers(0, 4))
def test_relaxing_a_limit_never_makes_the_interval_longer(problem: ModuloProblem, which: int) -> None:
    before = solve(problem).schedule
    if before is None:
        return
    relaxed = [
        replace(problem, units=tuple(replace(u, capacity=u.capacity + 1) for u in problem.units)),
        replace(problem, memories=tuple(replace(m, capacity=m.capacity + 1) for m in problem.memories)),
        replace(problem, groups=tuple(replace(g, registers=g.registers + 2) for g in problem.groups)),
        replace(problem, edges=problem.edges[1:]),
        replace(problem, edges=tuple(replace(e, wait=ModuloWait.NEVER) for e in problem.edges)),
    ][which]
    after = solve(relaxed).schedule
    assert after is not None
    assert after.interval <= before.interval


@SLOW
@given(problems(), st.integers(1, 40))
def test_a_small_budget_never_contradicts_the_truth(problem: ModuloProblem, work: int) -> None:
    expected = least_interval(problem, MOST)
    answer = solve(problem, engine_name="enumerate", budget=Budget(work_limit=work))
    if answer.status == "infeasible":
        assert expected is None
    if answer.status == "proven_optimal" and expected is not None:
        assert answer.schedule is not None
        assert answer.schedule.interval == expected
    if expected is not None:
        assert answer.bound.cycles <= expected


def test_a_disagreement_names_the_families_and_writes_the_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Forced: the enumeration is made to find a schedule where the registers leave none."""
    monkeypatch.setenv("WARPWRIGHT_TEST_DISAGREEMENTS", str(tmp_path))
    monkeypatch.setitem(globals(), "least_interval", lambda problem, most: 3)
    problem = two_groups(registers=3)
    with pytest.raises(Disagreement, match=r"cpsat: interval 8, the enumeration: 3; families: .*registers"):
        finds_the_optimum(problem)
    (path,) = tmp_path.iterdir()
    assert parse_problem(path.read_text()) == problem
