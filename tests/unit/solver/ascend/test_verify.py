"""A whole buffer schedule against its kernel: one change at a time, each named by its code alone."""

from dataclasses import replace

import pytest

from tests.unit.solver.ascend.families.boundaries import ring
from tests.unit.solver.ascend.kernels import gemm_graph
from tests.unit.solver.ascend.test_calls import gemm_call
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.domain import (
    BufferPin,
    BufferSchedule,
    ChosenBy,
    KernelGraph,
    Pins,
    ProvenOptimal,
    VersionMode,
)
from warpwright.solver.profiles import load_profile

A950 = load_profile("ascend950")


def solved(sizes: tuple[int, int] = (65536, 57344)) -> tuple[KernelGraph, BufferSchedule]:
    graph = gemm_graph(gemm_call(), sizes=sizes)
    verdict = solve_graph(graph, A950)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, BufferSchedule)
    return graph, verdict.schedule


def codes(graph: KernelGraph, schedule: BufferSchedule) -> set[str]:
    return {f"{violation.family}/{violation.rule}" for violation in verify_buffers(graph, A950, schedule)}


def with_count(schedule: BufferSchedule, name: str, versions: int) -> BufferSchedule:
    buffers = tuple(replace(b, versions=versions) if b.buffer == name else b for b in schedule.buffers)
    return replace(schedule, buffers=buffers)


def test_what_the_solver_says_is_legal() -> None:
    assert codes(*solved()) == set()


def test_a_scope_without_times() -> None:
    graph, schedule = solved()
    assert codes(graph, replace(schedule, loops=())) == {"shape/scope-missing"}


def test_a_task_without_a_time() -> None:
    graph, schedule = solved()
    loops = tuple(replace(loop, tasks=loop.tasks[1:]) for loop in schedule.loops)
    assert codes(graph, replace(schedule, loops=loops)) == {"shape/task-missing"}


def test_an_interval_belongs_to_a_loop_and_is_at_least_one_cycle() -> None:
    graph, schedule = solved()
    for interval in (None, 0, -5):
        loops = tuple(replace(loop, initiation_interval_cycles=interval) for loop in schedule.loops)
        assert codes(graph, replace(schedule, loops=loops)) == {"shape/interval"}


def test_lengths_and_stages_follow_from_the_times() -> None:
    graph, schedule = solved()
    (loop,) = schedule.loops
    assert codes(graph, replace(schedule, loops=(replace(loop, makespan_cycles=1),))) == {"shape/length"}
    tasks = (replace(loop.tasks[0], stage=7), *loop.tasks[1:])
    assert codes(graph, replace(schedule, loops=(replace(loop, tasks=tasks),))) == {"shape/stage"}


def test_what_the_kernel_has_not_is_not_scheduled() -> None:
    graph, schedule = solved()
    (loop,) = schedule.loops
    twice = replace(loop, tasks=(*loop.tasks, replace(loop.tasks[0], task="ghost")))
    assert codes(graph, replace(schedule, loops=(twice,))) == {"shape/task-unknown"}
    assert codes(graph, replace(schedule, loops=(loop, replace(loop, scope="ghost")))) == {"shape/scope-unknown"}
    ghost = replace(schedule.buffers[0], buffer="ghost")
    assert codes(graph, replace(schedule, buffers=(*schedule.buffers, ghost))) == {"buffer_versions/unknown"}


def test_modes_and_who_chose_them_follow_from_the_kernel() -> None:
    graph, schedule = solved()
    first, *rest = schedule.buffers
    for changed in (
        replace(first, mode=VersionMode.COUNTER),
        replace(first, mode_chosen_by=ChosenBy.SOLVER),
        replace(first, versions_chosen_by=ChosenBy.RULE),
        replace(first, eligible=False),
    ):
        assert codes(graph, replace(schedule, buffers=(changed, *rest))) == {"buffer_versions/entry"}


def test_a_pinned_schedule_is_held_to_the_problem_with_its_pins() -> None:
    """Five versions in a loop of two stages: more than the solver may choose, but a user may fix them."""
    graph = gemm_graph(gemm_call(), sizes=(16384, 16384))
    pins = Pins(buffers=(BufferPin("A", 5),))
    verdict = solve_graph(graph, A950, pins)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, BufferSchedule)
    assert verdict.certificate.verified
    assert codes(graph, verdict.schedule) == set()
    loops = tuple(
        replace(loop, tasks=tuple(replace(t, start_cycle=0, stage=0) for t in loop.tasks))
        for loop in verdict.schedule.loops
    )
    assert "dependence/lag" in codes(graph, replace(verdict.schedule, loops=loops))


def test_a_buffer_without_a_count() -> None:
    graph, schedule = solved()
    fewer = tuple(buffer for buffer in schedule.buffers if buffer.buffer != "C")
    assert codes(graph, replace(schedule, buffers=fewer)) == {"buffer_versions/missing"}


def test_a_count_where_no_loop_may_keep_versions() -> None:
    """C takes less than half of its memory, so that two of it would fit."""
    graph, schedule = solved()
    small = tuple(replace(b, bytes=1024) if b.name == "C" else b for b in graph.buffers)
    graph = replace(graph, buffers=small)
    assert codes(graph, schedule) == set()
    assert codes(graph, with_count(schedule, "C", 2)) == {"buffer_versions/not-eligible"}


@pytest.mark.parametrize(("more", "broken"), [(0, set()), (1024, {"memory_capacity/whole-kernel"})])
def test_a_memory_over_the_whole_kernel(more: int, broken: set[str]) -> None:
    """Another buffer of the same memory, which no loop's own call knows of."""
    graph, schedule = solved()
    rest = A950.integer("l1.bytes", "bytes") - sum(
        b.bytes * count.versions
        for b in graph.buffers
        for count in schedule.buffers
        if b.name == count.buffer and b.memory == graph.buffer("A").memory
    )
    other = replace(graph.buffer("A"), name="D", bytes=rest + more, source_scope="", owners=())
    assert codes(replace(graph, buffers=(*graph.buffers, other)), schedule) == broken


def test_an_answer_has_one_start_a_task_and_none_before_zero() -> None:
    assert ring().at(0).codes() == {"shape/one-start-a-task"}
    assert ring().at(-10, 0).codes() == {"shape/start-not-negative"}
