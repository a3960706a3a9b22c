"""Event ids of whole kernels: the numbers are those that TileLang 0.1.15 took for the same kernels."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.unit.solver.ascend.kernels import gemm_graph
from tests.unit.solver.ascend.test_calls import gemm_call
from warpwright.solver.ascend.hand_overs import hand_overs
from warpwright.solver.ascend.kernel_events import EventUse, event_use
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.domain import (
    Access,
    BufferPin,
    BufferSchedule,
    Infeasible,
    KernelGraph,
    LoopSchedule,
    Pins,
    ProvenOptimal,
    TaskTime,
    Unit,
    UnitUse,
    VersionMode,
)
from warpwright.solver.profiles import load_profile

A950 = load_profile("ascend950")
SMALL = (8192, 8192)


def with_pipes(graph: KernelGraph, tasks: Mapping[str, tuple[Unit, tuple[str, ...], tuple[str, ...]]]) -> KernelGraph:
    """The graph whose tasks have these pipes, reads and writes."""
    ops = tuple(
        replace(
            graph.ops[0],
            id=name,
            uses=(UnitUse(unit, 1),),
            reads=tuple(Access(each, 1) for each in reads),
            writes=tuple(Access(each, 1) for each in writes),
        )
        for name, (unit, reads, writes) in tasks.items()
    )
    return replace(graph, ops=ops)


PRODUCT = with_pipes(
    gemm_graph(gemm_call(buffer_sizes=list(SMALL)), sizes=SMALL),
    {
        "load_A": (Unit.MTE2, (), ("A",)),
        "load_B": (Unit.MTE2, (), ("B",)),
        "gemm_C": (Unit.CUBE, ("A", "B", "C"), ("C",)),
    },
)
"""One product of two tiles: the wait for the later load implies the earlier one, so one hand-over in each direction."""


def used(graph: KernelGraph, schedule: BufferSchedule) -> EventUse:
    found = event_use(graph, schedule)
    assert found is not None
    return found


def pinned(a: int, b: int) -> Pins:
    return Pins(buffers=(BufferPin("A", a), BufferPin("B", b)))


@pytest.mark.parametrize(("a", "b", "mutexes"), [(4, 4, 2), (8, 8, 2), (9, 9, 20), (16, 9, 20), (15, 15, 32)])
def test_versions_that_tilelang_finds_ids_for(a: int, b: int, mutexes: int) -> None:
    verdict = solve_graph(PRODUCT, A950, pinned(a, b))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, BufferSchedule)
    assert used(PRODUCT, verdict.schedule).mutexes == mutexes


def test_sixteen_versions_of_both_tiles_are_refused_before_any_lowering() -> None:
    verdict = solve_graph(PRODUCT, A950, pinned(16, 16))
    assert isinstance(verdict, Infeasible)
    (conflict,) = verdict.conflicts
    assert (conflict.family, conflict.place) == ("event_flags", "event ids")
    assert "34 mutexes needed, 32 available" in conflict.message


def test_the_verifier_refuses_them_too() -> None:
    verdict = solve_graph(PRODUCT, A950, pinned(15, 15))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, BufferSchedule)
    more = tuple(replace(b, versions=16) if b.buffer in "AB" else b for b in verdict.schedule.buffers)
    violations = verify_buffers(PRODUCT, A950, replace(verdict.schedule, buffers=more))
    assert {f"{each.family}/{each.rule}" for each in violations} == {"event_flags/mutexes"}


def two_products(versions: tuple[int, int]) -> tuple[KernelGraph, BufferSchedule]:
    """Two products, each of a tile of its own, in the order in which TileLang issued them."""
    tasks = {
        "load_A": (Unit.MTE2, (), ("A",)),
        "load_B": (Unit.MTE2, (), ("B",)),
        "gemm_C": (Unit.CUBE, ("A", "C"), ("C",)),
        "gemm_D": (Unit.CUBE, ("B", "D"), ("D",)),
    }
    base = with_pipes(PRODUCT, tasks)
    other = replace(base.buffer("C"), name="D")
    loop = replace(base.scopes[1], trips=64, items=tuple(tasks))
    graph = replace(base, scopes=(base.scopes[0], loop), buffers=(*base.buffers, other), calls=())
    verdict = solve_graph(PRODUCT, A950)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, BufferSchedule)
    times = tuple(TaskTime(name, start, 0) for name, start in zip(tasks, (0, 82, 272, 354), strict=True))
    counts = dict(zip("AB", versions, strict=True))
    buffers = tuple(replace(each, versions=counts.get(each.buffer, 1)) for each in verdict.schedule.buffers)
    return graph, replace(verdict.schedule, buffers=buffers, loops=(LoopSchedule("k", 164, 426, times),))


@pytest.mark.parametrize(
    ("versions", "mutexes"), [((3, 3), 2), ((4, 5), 6), ((8, 8), 18), ((8, 9), 11), ((9, 6), 8), ((9, 9), 38)]
)
def test_two_products_need_a_hand_over_each(versions: tuple[int, int], mutexes: int) -> None:
    graph, schedule = two_products(versions)
    use = used(graph, schedule)
    assert (use.mutexes, use.fits) == (mutexes, mutexes <= 32)


def test_what_is_not_modelled_is_not_judged() -> None:
    graph, schedule = two_products((9, 9))
    counted = tuple(replace(b, mode=VersionMode.COUNTER) if b.buffer == "A" else b for b in schedule.buffers)
    assert event_use(graph, replace(schedule, buffers=counted)) is None
    assert hand_overs(gemm_graph(gemm_call()), schedule) is None, "tasks without a pipe"
