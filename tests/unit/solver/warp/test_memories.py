"""Shared memory, tensor memory, occupancy, nested pipelines: what versions cost and where they stop."""

from dataclasses import replace

import pytest

from tests import kernels
from tests.kernels import Sketch
from warpwright.solver.device.limits import read_limits
from warpwright.solver.device.shared_memory import holders
from warpwright.solver.device.tensor_memory import allocated, columns
from warpwright.solver.domain.kernel import KernelGraph, Memory, ScopeKind
from warpwright.solver.domain.pins import DepthPin, Pins, PlacementPin, RolePin
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import (
    Fence,
    OpRef,
    Pipeline,
    Role,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
)
from warpwright.solver.domain.verdict import Infeasible, ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import verify, violations

H200, B200 = load_profile("h200"), load_profile("b200")


def families(graph: KernelGraph, pins: Pins | None = None, profile: HardwareProfile = H200) -> set[str]:
    """Families of the conflicts, empty when there is a schedule."""
    verdict = solve(close_problem(graph, profile, pins))
    if isinstance(verdict, Infeasible):
        return {conflict.family for conflict in verdict.conflicts}
    assert isinstance(verdict, ProvenOptimal), verdict
    return set()


def warp(graph: KernelGraph, pins: Pins | None = None, profile: HardwareProfile = H200) -> WarpSchedule:
    verdict = solve(close_problem(graph, profile, pins))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    return verdict.schedule


@pytest.mark.parametrize(("limit", "fits"), [(214_016, True), (214_015, False)])
def test_the_last_byte_counts(limit: int, fits: bool) -> None:
    """Three versions of 48 KiB, a tile of 64 KiB and one KiB of barriers."""
    quantities = tuple(replace(q, value=limit) if q.path == "shared.per_block" else q for q in H200.quantities)
    pins = Pins(depths=(DepthPin("As", 3), DepthPin("Bs", 3)))
    assert (families(kernels.gemm(), pins, replace(H200, quantities=quantities)) == set()) is fits


def test_changing_the_profile_alone_changes_the_answer() -> None:
    roomy, tight = warp(kernels.gemm(128, 128)), load_profile("rtx5090")
    assert roomy.pipelines[0].depth == 4
    verdict = solve(close_problem(kernels.gemm(128, 128, epilogue=False), tight))
    assert not isinstance(verdict, ProvenOptimal) or verdict.certificate.on_chip_bytes <= 101_376


@pytest.mark.parametrize(("n", "versions", "expected"), [(128, 1, 128), (128, 3, 512), (8, 1, 32), (256, 2, 512)])
def test_columns_are_powers_of_two_from_thirty_two(n: int, versions: int, expected: int) -> None:
    problem = close_problem(kernels.blackwell_gemm(128, n), B200)
    needed = columns(problem.graph, problem.device, problem.graph.buffer("acc"))
    assert needed == n
    assert allocated(problem.device, [versions * needed]) == expected


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ([128, 64, 128], 320),  # 128 + 128 + 64: three allocations cost no more than a common one
        ([384, 4, 4, 4], 512),  # scale factors lie behind the accumulator, in what rounding has paid for
        ([256, 128, 64, 64], 512),
        ([384, 64, 64], 512),
    ],
)
def test_buffers_share_an_allocation_where_that_saves_columns(needs: list[int], expected: int) -> None:
    assert allocated(read_limits(B200), needs) == expected


@pytest.mark.parametrize(
    ("rows", "columns_", "expected"), [(128, 256, 256), (256, 64, 128), (64, 128, 64), (32, 256, 64)]
)
def test_tiles_of_other_heights_use_all_lanes(rows: int, columns_: int, expected: int) -> None:
    """As TileLang 0.1.15 allocates them: read back from the code it writes for these tiles."""
    problem = close_problem(kernels.blackwell_gemm(rows, columns_), B200)
    assert columns(problem.graph, problem.device, problem.graph.buffer("acc")) == expected


def test_a_product_in_tensor_memory_signals_from_one_warp() -> None:
    graph = kernels.blackwell_gemm()
    schedule = warp(graph, profile=B200)
    assert schedule.role("mma").warps == 1
    wide = tuple(replace(r, warps_hi=r.warps_lo + 2) if r.name == "mma" else r for r in schedule.roles)
    broken = verify(graph, B200, replace(schedule, roles=wide))
    assert {violation.rule for violation in broken} == {"single-warp"}
    assert "barriers" in families(graph, Pins(roles=(RolePin("mma", 5, 7),)), B200)


def test_tensor_memory_has_instructions_for_some_shapes_and_so_many_columns() -> None:
    assert families(kernels.blackwell_gemm(64, 32), profile=B200) == {"tensor_memory"}
    assert families(kernels.blackwell_gemm(256, 64), profile=B200) == set()
    schedule = warp(kernels.blackwell_gemm(), profile=B200)
    deep = tuple(replace(p, depth=8) if "acc" in p.buffers else p for p in schedule.pipelines)
    found = {v.rule for v in verify(kernels.blackwell_gemm(), B200, replace(schedule, pipelines=deep))}
    assert "too-many-columns" in found


def test_blocks_of_one_multiprocessor_share_its_columns() -> None:
    """A block that does not get its columns waits in the allocation until another one ends."""
    schedule = warp(kernels.blackwell_gemm(128, 128), profile=B200)
    for blocks, fits in ((4, True), (5, False)):
        graph = replace(kernels.blackwell_gemm(128, 128), min_blocks_per_sm=blocks)
        found = {v.message for v in verify(graph, B200, schedule) if v.family == "tensor_memory"}
        assert found == (set() if fits else {"128 columns of tensor memory; there are 102 for each of 5 blocks"})


def test_tensor_memory_needs_a_device_that_has_it() -> None:
    assert families(kernels.blackwell_gemm(), profile=H200) & {"barriers", "tensor_memory"}


def test_two_blocks_an_sm_share_what_it_has() -> None:
    small = replace(kernels.gemm(64, 128, 64, threads=128), min_blocks_per_sm=2)
    schedule = warp(small)
    assert verify(small, H200, schedule) == ()
    problem = close_problem(small, H200)
    assert problem.device.launch_registers(32 * schedule.num_warps, 2) == 128
    large = replace(kernels.gemm(128, 256), min_blocks_per_sm=2)
    assert "occupancy" in families(large) or "register_need" in families(large)


def nested() -> KernelGraph:
    """A ring in the inner loop, and one more use of its last tile in the outer one."""
    s = Sketch("nested", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.fill("clear", "acc")
    s.loop("outer", 4, kind=ScopeKind.SERIAL)
    s.loop("inner", 6, "outer")
    s.load("next", "As", "inner", source="A")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "inner")
    s.each("last", ["As", "acc"], ["acc"], "outer")
    return s.graph()


def nested_schedule(inner: int, outer: int) -> WarpSchedule:
    def sync(kind: str, pipeline: str) -> Sync:
        return Sync(SyncKind(kind), pipeline)

    load_inner = (sync("producer_acquire", "ring"), OpRef("next"), sync("producer_commit", "ring"))
    load_outer = (sync("producer_acquire", "tile"), OpRef("inner"), sync("producer_commit", "tile"))
    use_inner = (sync("consumer_wait", "ring"), OpRef("mma"), sync("consumer_release", "ring"))
    ends = (Fence("tile"), sync("consumer_release", "tile"))
    use_outer = (OpRef("inner"), sync("consumer_wait", "tile"), OpRef("last"), *ends)
    return WarpSchedule(
        8,
        (Role("consumer", 0, 4, 240), Role("load", 4, 5, 24)),
        (Pipeline("ring", ("As",), inner), Pipeline("tile", ("As",), outer)),
        (
            ScopeProgram("inner", (RoleBody("load", load_inner), RoleBody("consumer", use_inner))),
            ScopeProgram("outer", (RoleBody("load", load_outer), RoleBody("consumer", use_outer))),
            ScopeProgram(
                "tl.ws_scope_root",
                (
                    RoleBody("load", (OpRef("outer"),)),
                    RoleBody("consumer", (OpRef("clear"), OpRef("outer"))),
                ),
            ),
        ),
    )


def test_nested_pipelines_multiply_their_versions() -> None:
    """Versions are the product of both depths, on a schedule from anywhere."""
    problem = close_problem(nested(), H200)
    reading = Reading(problem, nested_schedule(3, 2))
    assert reading.versions("As") == 6
    assert dict(holders(problem.graph, reading.schedule))["As"] == 6 * 8192
    assert violations(problem, nested_schedule(3, 2)) == ()
    assert {v.rule for v in violations(problem, nested_schedule(6, 5))} == {"deeper-than-trips", "over-capacity"}


@pytest.mark.parametrize("engine", ["cpsat", "z3"])
def test_the_search_nests_pipelines_where_the_last_tile_is_used_again(engine: str) -> None:
    problem = close_problem(nested(), H200)
    verdict = solve(problem, engine=engine)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    reading = Reading(problem, verdict.schedule)
    outer, inner = reading.protecting("As")
    assert (reading.scope_of[outer.name], reading.scope_of[inner.name]) == ("outer", "inner")
    assert inner.depth > 1
    assert reading.versions("As") == outer.depth * inner.depth
    # One role for both would load a tile only when the last one is used up.
    pins = Pins(placements=(PlacementPin("next", "consumer"),))
    alone = solve(close_problem(nested(), H200, pins), engine=engine)
    assert isinstance(alone, ProvenOptimal)
    assert alone.certificate.initiation_interval_cycles is not None
    assert (verdict.certificate.initiation_interval_cycles or 0) < alone.certificate.initiation_interval_cycles / 4


@pytest.mark.parametrize(("inner", "outer"), [(12, 2), (16, 1)])
def test_nested_depths_share_what_memory_there_is(inner: int, outer: int) -> None:
    """A pin fixes the inner depth; the outer one has what is left of 28 tiles, as a product and not as a sum."""
    problem = close_problem(nested(), H200, Pins(depths=(DepthPin("As", inner),)))
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    reading = Reading(problem, verdict.schedule)
    assert [pipeline.depth for pipeline in reading.protecting("As")] == [outer, inner]
    assert dict(holders(problem.graph, reading.schedule))["As"] == outer * inner * 8192


def test_a_loop_that_may_not_run_nests_nothing() -> None:
    """The last version is then one that nobody filled in this iteration."""
    graph = nested()
    scopes = tuple(replace(scope, trips=None) if scope.id == "inner" else scope for scope in graph.scopes)
    structure = structure_of(close_problem(replace(graph, scopes=scopes), H200))
    assert structure.plain == {"next"}
