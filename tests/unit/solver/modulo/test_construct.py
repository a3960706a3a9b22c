"""The parts of the constructive search read as sentences: a unit's gaps, peaks of lives, paths, and whole small loops."""

from dataclasses import replace

import pytest

from benchmarks.graphs import attention_cases, scaling_case
from tests.unit.solver.modulo.tiny import chain, two_groups
from warpwright.solver.modulo import ModuloEdge, ModuloOp, ModuloProblem, ModuloUnit, Use, verify
from warpwright.solver.modulo.bounds import lower_bounds
from warpwright.solver.modulo.construct import construct
from warpwright.solver.modulo.construct.shape import Shape, longest_paths, meets_itself
from warpwright.solver.modulo.construct.spans import UnitCalendar, covers, fits, peak


def test_a_clash_says_how_far_to_move_either_way() -> None:
    lane = UnitCalendar(10, [4, 3])
    lane.add(8, 4, 0)  # wraps: phases 8, 9, 0, 1
    assert lane.clash(2, 3) is None
    assert lane.clash(1, 3) == (1, 6)
    assert lane.clash(6, 3) == (6, 1)
    assert lane.met(1, 1) == {0}
    assert lane.met(2, 6) == set()


def test_a_gap_of_a_full_unit_must_be_fillable_by_what_is_still_to_come() -> None:
    lane = UnitCalendar(12, [4, 4, 4])
    lane.add(0, 4, 0)
    assert lane.waste(4, 4) is None
    assert lane.waste(8, 4) is None
    assert lane.waste(5, 4) == (3, 1)


def test_a_unit_with_room_does_not_judge_gaps() -> None:
    lane = UnitCalendar(20, [4, 4])
    lane.add(0, 4, 0)
    assert lane.waste(5, 4) is None


def test_lengths_that_differ_may_fill_a_gap_together() -> None:
    lane = UnitCalendar(20, [5, 7, 3, 5])
    lane.add(0, 5, 0)
    assert lane.waste(15, 5) is None  # 10 before it: 7 + 3
    assert lane.waste(11, 5) is not None  # 6 before it: nothing adds up to that


@pytest.mark.parametrize(
    ("lives", "expected"),
    [
        ([(0, 5, 2, 0)], 2),
        ([(0, 5, 2, 0), (5, 9, 3, 1)], 3),
        ([(8, 13, 2, 0), (2, 4, 3, 1)], 5),
        ([(0, 10, 1, 0), (0, 25, 1, 1)], 4),
        ([(7, 10, 1, 0), (0, 3, 1, 1)], 1),
        ([(-3, 2, 2, 0), (17, 19, 1, 1)], 3),
    ],
)
def test_the_peak_counts_every_iteration_in_flight(lives: list[tuple[int, int, int, int]], expected: int) -> None:
    counts = [sum(life[2] * _copies(life, phase) for life in lives) for phase in range(10)]
    top, where = peak(lives, 10)
    assert top == counts[where] == max(counts) == expected
    assert [covers(life, where, 10) for life in lives] == [_copies(life, where) > 0 for life in lives]
    assert fits(lives, 10, top)
    assert not fits(lives, 10, top - 1)


def _copies(life: tuple[int, int, int, int], phase: int) -> int:
    return sum(cycle % 10 == phase for cycle in range(life[0], life[1]))


def test_longest_paths_pass_through_others_and_pay_for_iterations() -> None:
    problem = ModuloProblem(
        "paths",
        (),
        tuple(ModuloOp(name, 1) for name in "abc"),
        (ModuloEdge("a", "b", 5), ModuloEdge("b", "c", 4), ModuloEdge("c", "a", 2, 2), ModuloEdge("a", "c", 3)),
    )
    rows = longest_paths(Shape.of(problem), 6)
    assert rows[0][2] == 9
    assert rows[2][0] == 2 - 12
    assert rows[1][0] == 4 + 2 - 12


def test_an_operation_that_overflows_a_unit_alone_is_seen_before_the_search() -> None:
    op = ModuloOp("a", 3, (Use("u", 3, 0, 2), Use("u", 3, 4, 2)))
    problem = ModuloProblem("self", (ModuloUnit("u", 3),), (op,), ())
    assert meets_itself(Shape.of(problem), 5)
    assert not meets_itself(Shape.of(problem), 8)
    assert construct(problem, 5, limit=10) == (None, 1)


def test_two_uses_of_one_operation_count_together() -> None:
    # each use of b alone fits beside a, both together do not
    ops = (ModuloOp("a", 2, (Use("u", 6, 0, 1),)), ModuloOp("b", 2, (Use("u", 2, 0, 1), Use("u", 2, 0, 1))))
    problem = ModuloProblem("together", (ModuloUnit("u", 2),), ops, (), max_stages=1)
    schedule, _ = construct(problem, 8, limit=20)
    assert schedule is not None
    assert verify(problem, schedule) == ()
    assert construct(problem, 7, limit=20)[0] is None


@pytest.mark.parametrize("problem", [chain(capacity=3), two_groups()])
def test_small_loops_are_built(problem: ModuloProblem) -> None:
    bound = lower_bounds(problem)[0].cycles
    schedule, _ = construct(problem, bound + 6, limit=50)
    assert schedule is not None
    assert verify(problem, schedule) == ()


@pytest.mark.parametrize("size", [20, 60, 200])
def test_the_series_is_built_at_its_lower_bound(size: int) -> None:
    problem = scaling_case(size)
    schedule, work = construct(problem, lower_bounds(problem)[0].cycles, limit=2_000)
    assert schedule is not None
    assert schedule.interval == lower_bounds(problem)[0].cycles
    assert verify(problem, schedule) == ()
    assert work <= 2_000


def test_the_work_limit_ends_a_search_that_cannot_succeed() -> None:
    # its optimum is 2178: no schedule at the bound exists
    problem = attention_cases()["hopper-forward-coarse"]()
    schedule, work = construct(problem, 2048, limit=30)
    assert schedule is None
    assert 30 <= work <= 60


def test_a_pin_is_kept() -> None:
    base = two_groups()
    pinned = replace(base, ops=tuple(replace(op, groups=("right",)) for op in base.ops))
    schedule, _ = construct(pinned, 20, limit=50)
    assert schedule is not None
    assert set(schedule.groups.values()) == {"right"}
