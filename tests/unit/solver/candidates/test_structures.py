"""The space of structures: what a kernel allows, register splits, sketches that the verifier accepts."""

from dataclasses import replace

import pytest

from benchmarks.kernels.graphs import attention_graph, gemm_graph
from tests import kernels
from warpwright.solver.candidates import propose
from warpwright.solver.candidates.sketch import sketch
from warpwright.solver.candidates.structures import register_splits, space_of
from warpwright.solver.domain import DepthPin, Issue, KernelGraph, Op, OpKind, Pins, Sync
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.verify import verify

H200 = load_profile("h200")


@pytest.mark.parametrize(
    ("warpgroups", "splits"),
    [
        (1, [(24, 240), (40, 240), (0, 0)]),
        (2, [(24, 240), (40, 232), (0, 0)]),
        (3, [(24, 160), (40, 152), (0, 0)]),
        (4, [(24, 112), (40, 104), (0, 0)]),
    ],
)
def test_register_splits_fill_the_pool_that_the_block_is_launched_with(
    warpgroups: int, splits: list[tuple[int, int]]
) -> None:
    assert register_splits(H200, warpgroups) == splits
    for load, consumer in splits[:-1]:
        assert load + warpgroups * consumer <= 512


def test_no_split_without_register_reallocation() -> None:
    assert register_splits(load_profile("a100"), 2) == [(0, 0)]


def test_tiles_of_one_loop_can_share_a_barrier_whether_one_product_reads_them_or_two() -> None:
    """One pipeline for K and V was the fastest attention on an H200, at the power limit and at the boost clock."""
    assert space_of(gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2)).can_merge
    graph = attention_graph(4, 16, 8192, 128, 192, 128, 2, 3)
    space = space_of(graph)
    assert space.can_merge
    assert space.can_overlap
    merged = next(s for s in space.base(H200, 3, Pins(merged_pipelines=True)) if s.depth("Ks") == 2)
    schedule = sketch(space, merged, close_problem(graph, H200))
    assert ("Ks", "Vs") in [pipeline.buffers for pipeline in schedule.pipelines]
    assert verify(graph, H200, schedule) == ()


def test_each_product_of_a_loop_can_have_a_pipeline_of_its_own_for_its_operands() -> None:
    """So the first one's tiles are free while the second one is in flight; one pipeline for all waits for both."""
    graph = kernels.gemm_in_pairs()
    space = space_of(graph)
    two = next(s for s in space.base(H200, 2, Pins()) if s.depth("As") == 2)
    (grouped,) = [s for s in space.refined(two, H200) if s.grouped and not s.store_role]
    schedule = sketch(space, grouped, close_problem(graph, H200))
    assert [(p.name, p.buffers, p.depth) for p in schedule.pipelines] == [
        ("as_bs", ("As", "Bs"), 2),
        ("at_bt", ("At", "Bt"), 2),
    ]
    assert verify(graph, H200, schedule) == ()
    assert space_of(gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2)).operands == ()
    assert space_of(attention_graph(4, 16, 8192, 128, 192, 128, 2, 3)).operands == ()


@pytest.mark.slow
def test_a_pipeline_for_each_product_is_proposed() -> None:
    """Its short form is the test of the space above; a proposal here takes some ten seconds."""
    found = {c.structure["pipelines"] for c in propose(kernels.gemm_in_pairs(), H200, count=4).candidates}
    assert "one per product" in found


@pytest.mark.slow
@pytest.mark.parametrize("pinned", [True, False])
def test_a_pin_decides_over_pipelines_of_several_products(pinned: bool) -> None:
    """Its short form is the pin's own boundary in the tests of families; a proposal here takes some ten seconds."""
    kept = propose(kernels.gemm_in_pairs(), H200, count=2, pins=Pins(merged_pipelines=pinned)).candidates
    assert {c.structure["pipelines"] for c in kept} == {"merged" if pinned else "separate"}


def test_a_sketch_frees_the_tiles_of_a_product_in_flight_only_after_its_wait() -> None:
    graph = with_pv_in_flight(attention_graph(4, 16, 8192, 128, 128, 128, 2, 2))
    space = space_of(graph)
    structure = next(iter(space.base(H200, 2, Pins())))
    schedule = sketch(space, structure, close_problem(graph, H200))
    body = next(
        b for program in schedule.scopes if program.scope == "k" for b in program.bodies if b.role == "consumer"
    )
    names = [
        f"{i.sync.value} {i.pipeline}" if isinstance(i, Sync) else getattr(i, "id", "fence") for i in body.instructions
    ]
    assert names[-3:] == ["pv", "drained", "consumer_release vs"]
    assert verify(graph, H200, schedule) == ()


def test_a_kernel_with_a_product_in_flight_gets_candidates() -> None:
    graph = with_pv_in_flight(attention_graph(4, 16, 8192, 128, 128, 128, 2, 2))
    assert propose(graph, H200, count=2).candidates


def with_pv_in_flight(graph: KernelGraph) -> KernelGraph:
    """The attention whose second product is only started, with a wait for it at the end of the body."""
    ops = []
    for op in graph.ops:
        if op.id == "pv":
            assert op.gemm is not None
            op = replace(op, issue=Issue.ASYNCHRONOUS, gemm=replace(op.gemm, waits=False))
        ops.append(op)
        if op.id == "pv":
            ops.append(Op("drained", OpKind.WAIT, "k", Issue.BLOCKING, 1, (), (), ()))
    scopes = tuple(replace(s, items=(*s.items, "drained")) if s.id == "k" else s for s in graph.scopes)
    return replace(graph, ops=tuple(ops), scopes=scopes)


def test_the_kernels_own_width_comes_first_and_every_width_divides_the_tile() -> None:
    assert space_of(gemm_graph(4096, 4096, 4096, 192, 192, 64, 3, 3)).widths[0] == 3
    assert space_of(gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2)).widths[0] == 2


def test_depths_grow_to_the_first_that_does_not_fit() -> None:
    space = space_of(gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2))
    depths = [structure.depth("As") for structure in space.base(H200, 2, Pins())]
    assert depths == [1, 2, 3, 4]
    assert space.fits(list(space.base(H200, 2, Pins()))[2], H200)
    assert not space.fits(list(space.base(H200, 2, Pins()))[3], H200)


def test_pinned_depths_are_kept() -> None:
    space = space_of(attention_graph(4, 16, 8192, 128, 128, 128, 2, 2))
    pins = Pins(depths=(DepthPin("Ks", 2),))
    assert {structure.depth("Ks") for structure in space.base(H200, 2, pins)} == {2}


def test_every_sketch_that_fits_passes_the_verifier() -> None:
    for graph, width in (
        (gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2), 2),
        (attention_graph(4, 16, 8192, 128, 192, 128, 2, 3), 3),
    ):
        space = space_of(graph)
        structures = [s for s in space.base(H200, width, Pins()) if space.fits(s, H200)]
        assert structures
        for structure in structures:
            assert verify(graph, H200, sketch(space, structure, close_problem(graph, H200))) == ()
