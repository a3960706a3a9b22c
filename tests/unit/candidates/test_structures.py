"""The space of structures: what a kernel allows, register splits, sketches that the verifier accepts."""

import pytest

from benchmarks.kernels.graphs import attention_graph, gemm_graph
from solver.candidates.sketch import sketch
from solver.candidates.structures import register_splits, space_of
from solver.domain import DepthPin, Pins
from solver.problem import close_problem
from solver.profiles import load_profile
from solver.verify import verify

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


def test_tiles_of_one_product_can_share_a_barrier_and_those_of_two_products_cannot() -> None:
    assert space_of(gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2)).can_merge
    attention = space_of(attention_graph(4, 16, 8192, 128, 128, 128, 2, 2))
    assert not attention.can_merge
    assert attention.can_overlap


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
