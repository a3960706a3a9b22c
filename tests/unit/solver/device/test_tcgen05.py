"""Which instruction a product gets, and what it says of one that has none."""

import pytest

from tests import kernels
from warpwright.solver.device.instruction import Instruction, instruction, refusal, remarks
from warpwright.solver.device.tcgen05 import Atom, atom
from warpwright.solver.domain.kernel import GemmShape, Memory


def product(
    m: int, n: int, k: int = 64, dtype: str = "bfloat16", result: str = "float32", a: Memory = Memory.SHARED
) -> GemmShape:
    return GemmShape(m, n, k, dtype, result, a, Memory.SHARED, Memory.TENSOR)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (product(128, 256), Atom(128, 256, 16)),
        (product(256, 48), Atom(128, 48, 16)),
        (product(64, 128), Atom(64, 128, 16, folded=True)),
        (product(32, 64), Atom(32, 64, 16, folded=True)),
        (product(64, 32), None),
        (product(128, 20), None),
        (product(128, 128, 8), None),
        (product(128, 128, dtype="float8_e4m3"), Atom(128, 128, 32, folded=True)),
        (product(64, 32, dtype="float8_e4m3"), Atom(64, 32, 32)),
        (product(128, 128, dtype="int8", result="int32"), Atom(128, 128, 32, folded=True)),
        (product(128, 128, dtype="float32"), None),
        (product(128, 24, a=Memory.TENSOR), None),
        (product(128, 32, a=Memory.TENSOR), Atom(128, 32, 16)),
        (product(32, 64, a=Memory.TENSOR), None),
    ],
)
def test_shapes_have_the_instruction_that_tilelang_selects(shape: GemmShape, expected: Atom | None) -> None:
    assert atom(shape) == expected
    assert bool(refusal("T.gemm", shape, "sm_100a", wgmma=False, tcgen05=True)) is (expected is None)


def test_a_result_in_registers_is_warp_level_on_a_device_with_tensor_memory() -> None:
    graph = kernels.gemm(128, 128, 64)
    (shape,) = (op.gemm for op in graph.ops if op.gemm is not None)
    assert instruction(shape, wgmma=False, tcgen05=True) is Instruction.MMA_SYNC
    assert instruction(shape, wgmma=True, tcgen05=False) is Instruction.WGMMA
    (sentence,) = remarks(graph, wgmma=False, tcgen05=True)
    assert "compiles to mma.sync" in sentence
    assert "T.alloc_tmem" in sentence
    assert remarks(graph, wgmma=True, tcgen05=False) == ()
    assert remarks(graph, wgmma=False, tcgen05=False) == ()
    assert remarks(kernels.blackwell_gemm(), wgmma=False, tcgen05=True) == ()


def in_registers(m: int) -> GemmShape:
    return GemmShape(m, 128, 64, "bfloat16", "float32", Memory.SHARED, Memory.SHARED, Memory.FRAGMENT)


@pytest.mark.parametrize(
    ("name", "shape", "arch", "refused"),
    [
        ("T.wgmma_gemm", in_registers(128), "sm_100a", True),
        ("T.wgmma_gemm", in_registers(128), "sm_90a", False),
        ("T.wgmma_gemm", in_registers(32), "sm_90a", True),
        ("T.gemm", in_registers(32), "sm_90a", False),
        ("T.gemm", product(128, 128), "sm_90a", True),
        ("T.tcgen05_gemm", product(128, 128), "sm_100a", False),
    ],
)
def test_an_operator_without_an_instruction_is_refused(name: str, shape: GemmShape, arch: str, refused: bool) -> None:
    said = refusal(name, shape, arch, wgmma=arch == "sm_90a", tcgen05=arch == "sm_100a")
    assert bool(said) is refused
