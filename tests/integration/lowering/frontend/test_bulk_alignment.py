"""A contiguous copy from an address that is not proven aligned goes through registers, in the graph and in the printed source."""

from pathlib import Path

import pytest

from warpwright.graphs import read_graph
from warpwright.kernel_file import read_kernel_file
from warpwright.solver.domain import OpKind, dump
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool, Limits, Returned

H200 = load_profile("h200")
KERNEL = """
import tilelang.language as T


def kernel(rows=1024, width=1024, block=64, offset=0):
    @T.prim_func
    def scaled(
        X: T.Tensor((rows, width), T.float16), S: T.Tensor((width + 64,), T.float16), Y: T.Tensor((rows, width), T.float16)
    ):
        with T.Kernel(T.ceildiv(rows, 128), threads=128) as by:
            Xs = T.alloc_shared((128, block), T.float16)
            Ss = T.alloc_shared((block,), T.float16)
            for k in T.Pipelined(T.ceildiv(width, block), num_stages=2):
                T.copy(X[by * 128, k * block], Xs)
                T.copy(S[k * block + offset], Ss)
                for i, j in T.Parallel(128, block):
                    Y[by * 128 + i, k * block + j] = Xs[i, j] * Ss[j]

    return scaled
"""


@pytest.mark.parametrize(
    ("offset", "kind"), [(0, OpKind.TMA_LOAD), (8, OpKind.TMA_LOAD), (1, OpKind.COPY), (4, OpKind.COPY)]
)
def test_a_bulk_copy_is_proven_to_be_aligned_or_not_made(
    pool: ChildPool, tmp_path: Path, offset: int, kind: OpKind
) -> None:
    """Eight half-precision elements are 16 bytes: the instruction faults at every other offset (CUDA error 716 on an H200)."""
    file = tmp_path / "scaled.py"
    file.write_text(KERNEL)
    variant = read_kernel_file(file, settings={"offset": offset}, pool=pool).variants[0]
    graph = read_graph(variant.ir, H200, pool=pool)
    kinds = {access.buffer: op.kind for op in graph.ops for access in op.writes}
    assert (kinds["Xs"], kinds["Ss"]) == (OpKind.TMA_LOAD, kind)
    payload = {"ir": variant.ir, "variant": "default", "profile": dump(H200)}
    printed = pool.run("materialize.plain", payload, Limits(wall_seconds=120))
    assert isinstance(printed, Returned)
    assert printed.value["source"].count("disable_tma") == (kind is OpKind.COPY)
