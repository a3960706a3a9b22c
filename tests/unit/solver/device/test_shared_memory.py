"""Shared memory of a block, part by part, as it was read back from compiled kernels."""

from dataclasses import replace

import pytest

from tests import kernels
from warpwright.solver.device.shared_memory import (
    alignment_of,
    area_bytes,
    barrier_bytes,
    block_bytes,
    holders,
    reduction_bytes,
    static_bytes,
)
from warpwright.solver.domain.kernel import Access, Buffer, Issue, KernelGraph, Memory, Op, OpKind
from warpwright.solver.domain.schedule import Pipeline, Role, WarpSchedule


@pytest.mark.parametrize(("depth", "size"), [(1, 32), (2, 32), (3, 64), (4, 64), (63, 1024), (64, 1024), (65, 1056)])
def test_a_pipeline_has_two_arrays_of_mbarriers_aligned_to_sixteen_bytes(depth: int, size: int) -> None:
    assert barrier_bytes(depth) == size


@pytest.mark.parametrize(
    ("depths", "size"),
    [([], 0), ([3], 1024), ([64], 1024), ([65], 2048), ([1] * 32, 1024), ([1] * 33, 2048), ([63, 63], 2048)],
)
def test_static_bytes_take_whole_kibibytes_beside_the_aligned_dynamic_array(depths: list[int], size: int) -> None:
    """Each row was compiled as a kernel with these arrays (ptxas 13.0.88, sm_90a)."""
    assert static_bytes(depths) == size


def test_versions_lie_side_by_side_and_alignment_counts_once() -> None:
    """A row of 256 bytes eight times is 2 KiB (kernel ``gemv`` of the corpus), not eight aligned KiB."""
    graph = kernels.gemm()
    assert alignment_of(graph) == 1024
    assert area_bytes(graph, 256, 8) == 2048
    assert area_bytes(graph, 256) == 1024
    assert area_bytes(graph, 16384 + 16, 2) == 2 * 16384 + 1024


def test_a_block_without_bulk_copies_and_products_is_aligned_to_sixteen() -> None:
    graph = kernels.gemm()
    loose = replace(graph, buffers=tuple(replace(b, alignment_bytes=16) for b in graph.buffers))
    assert alignment_of(loose) == 16
    assert area_bytes(loose, 250) == 256


def reducing(
    shape: tuple[int, int], threads_a_row: int, *, product: bool, threads: int = 128
) -> tuple[KernelGraph, Op]:
    """A kernel that reduces a fragment's rows: the accumulator of a product, or one that threads fill themselves."""
    height, width = shape
    base = kernels.gemm(height, width, 64, threads=threads) if product else kernels.gemm(128, 128, 64, threads=threads)
    rows = Buffer("rows", Memory.FRAGMENT, (shape[0],), "float32", 4 * shape[0], True, 1, shape[0] * threads_a_row)
    own = Buffer("own", Memory.FRAGMENT, shape, "float32", 4 * shape[0] * shape[1], True, 1, shape[0] * shape[1])
    source = "acc" if product else "own"
    reduction = Op(
        "reduce", OpKind.REDUCE, base.ops[0].scope, Issue.BLOCKING, 1, (), (Access(source, 1),), (Access("rows", 1),)
    )
    buffers = (*base.buffers, rows) if product else (*base.buffers, rows, own)
    return replace(base, buffers=buffers, ops=(*base.ops, reduction)), reduction


@pytest.mark.parametrize(("warps", "size"), [(4, 0), (8, 1024)])
def test_a_row_of_an_accumulator_spans_warpgroups_that_share_its_columns(warps: int, size: int) -> None:
    """128 x 128 under the square policy: one warpgroup holds whole rows, two share the columns (``late_start``)."""
    graph, reduction = reducing((128, 128), 4, product=True)
    assert reduction_bytes(graph, reduction, warps) == size


@pytest.mark.parametrize(
    ("threads_a_row", "warps", "size"), [(16, 4, 0), (32, 4, 0), (64, 4, 1024), (16, 8, 0), (32, 8, 1024)]
)
def test_a_reduction_over_more_threads_than_a_warp_takes_one_element_a_thread(
    threads_a_row: int, warps: int, size: int
) -> None:
    """Half a KiB for 128 threads and one for 256, in whole KiB behind aligned buffers; a wider role may spread a row wider."""
    graph, reduction = reducing((16, 512), threads_a_row, product=False)
    assert reduction_bytes(graph, reduction, warps) == size


def test_a_fragment_made_from_an_accumulator_has_its_layout() -> None:
    graph, reduction = reducing((128, 128), 4, product=True)
    copied = replace(next(b for b in graph.buffers if b.name == "acc"), name="copied")
    copy = Op("copy", OpKind.COPY, "k", Issue.BLOCKING, 1, (), (Access("acc", 1),), (Access("copied", 1),))
    later = replace(reduction, reads=(Access("copied", 1),))
    graph = replace(graph, buffers=(*graph.buffers, copied), ops=(*graph.ops[:-1], copy, later))
    assert reduction_bytes(graph, later, 8) == 1024
    assert reduction_bytes(graph, later, 4) == 0


def test_nothing_else_takes_room_of_its_own() -> None:
    graph = kernels.attention()
    assert [reduction_bytes(graph, op, 8) for op in graph.ops if op.kind is not OpKind.REDUCE] == [0] * (
        sum(op.kind is not OpKind.REDUCE for op in graph.ops)
    )


def test_the_holders_are_every_buffer_with_its_versions_and_the_barriers() -> None:
    graph = kernels.gemm(128, 256, 64)
    schedule = WarpSchedule(12, (Role("consumer", 0, 8, 240),), (Pipeline("as_bs", ("As", "Bs"), 3),), ())
    held = dict(holders(graph, schedule))
    assert held == {"As": 3 * 16384, "Bs": 3 * 32768, "Cs": 65536, "barriers": 1024}
    assert block_bytes(graph, schedule) == 214_016
