"""A whole buffer schedule against its kernel: one change at a time, each named by its code alone."""

from dataclasses import replace

import pytest

from tests.unit.solver.ascend.families.boundaries import ring
from tests.unit.solver.ascend.kernels import gemm_graph
from tests.unit.solver.ascend.test_calls import gemm_call
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.domain import BufferSchedule, KernelGraph, ProvenOptimal
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
