"""How TileLang splits one matrix product over the warps of a role, and how many registers each thread needs for it.

Source: TileLang 0.1.15 wheel, ``src/cuda/op/gemm.cc:34-97`` (eligibility) and ``:248-331`` (warp partition).
"""

from dataclasses import dataclass
from functools import cache

from warpwright.solver.device.limits import DEFAULT_PRODUCT_REGISTERS, WARPGROUP
from warpwright.solver.domain.kernel import GemmShape, Memory

__all__ = [
    "INSTRUCTION_ROWS",
    "ROWS_PER_WARP",
    "Partition",
    "instruction_registers",
    "is_wgmma",
    "padded_macs",
    "partition",
]

ROWS_PER_WARP = 16
INSTRUCTION_ROWS = WARPGROUP * ROWS_PER_WARP
"""Rows of one warpgroup matrix instruction: a tile's rows are padded to them (PTX ISA, wgmma.mma_async)."""
INSTRUCTION_COLUMNS = 8
"""Granularity of the instruction's columns."""
LARGEST_INSTRUCTION_COLUMNS = 256
INSTRUCTION_OVERHEAD_REGISTERS = DEFAULT_PRODUCT_REGISTERS
"""ptxas C7602 requires ``N/2 + 26`` registers at launch: measured 154 for N = 256 and 90 for N = 128 (ptxas 13.0.88)."""

_K_STEP = {"float16": 16, "bfloat16": 16, "int8": 32, "uint8": 32, "tfloat32": 8}
_K_STEP_FLOAT8 = 32
_HALVES = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Partition:
    """``rows * columns`` warps share the tile: each row of warps has its own rows of C, each column its own columns."""

    rows: int
    columns: int


def is_wgmma(shape: GemmShape) -> bool:
    """Whether TileLang uses warpgroup instructions for this product on a Hopper device, given whole warpgroups.

    B must be in shared memory, M at least 64, K a multiple of the instruction's step, and for types other than half
    precision both operands must be K-major. Everything else silently becomes ``mma.sync``.
    """
    step = _K_STEP_FLOAT8 if shape.a_dtype.startswith("float8") else _K_STEP.get(shape.a_dtype)
    if step is None or shape.c_memory is Memory.TENSOR or shape.b_memory is not Memory.SHARED:
        return False
    if shape.m < INSTRUCTION_ROWS or shape.k % step:
        return False
    return shape.a_dtype in _HALVES or (not shape.transpose_a and shape.transpose_b)


@cache
def partition(shape: GemmShape, warps: int) -> Partition | None:
    """The partition of the tile over ``warps`` warps under the product's policy, or None when TileLang has none.

    Rows come in multiples of a warpgroup; a warp owns a multiple of 16 rows and 8 columns.
    """
    m, n = shape.m, shape.n
    if warps <= 0 or warps % WARPGROUP or m % ROWS_PER_WARP or n % INSTRUCTION_COLUMNS:
        return None
    legal = [
        Partition(rows, warps // rows)
        for rows in range(WARPGROUP, warps + 1, WARPGROUP)
        if warps % rows == 0 and m % (rows * ROWS_PER_WARP) == 0 and n % (warps // rows * INSTRUCTION_COLUMNS) == 0
    ]
    policy = shape.warp_policy.replace("_", "").lower()
    if not legal or policy == "fullrow":
        return legal[-1] if legal else None
    if policy == "fullcol":
        return legal[0]
    return min(
        legal, key=lambda p: abs((m / (p.rows * ROWS_PER_WARP)) / (n / (p.columns * INSTRUCTION_COLUMNS)) - m / n)
    )


def padded_macs(m: int, n: int, k: int, rows: int) -> int:
    """Multiply-adds that a tile product takes: its rows and columns are padded to the instruction's, which has so many rows."""
    return -(-m // rows) * rows * -(-n // INSTRUCTION_COLUMNS) * INSTRUCTION_COLUMNS * k


def instruction_registers(shape: GemmShape, warps: int) -> int:
    """Registers per thread that one instruction of this product needs at launch; 0 if it is not a warpgroup product."""
    split = partition(shape, warps) if is_wgmma(shape) else None
    if split is None:
        return 0
    return min(shape.n // split.columns, LARGEST_INSTRUCTION_COLUMNS) // 2 + INSTRUCTION_OVERHEAD_REGISTERS
