"""The tcgen05 instruction that TileLang selects for a product into tensor memory, and the place that its result takes there.

Tensor memory has 128 lanes of 32-bit columns. An instruction of 128 rows uses all of them; one of fewer rows is either
weight-stationary (``.ws``) and folds its columns into the idle lanes, or leaves half of them empty. Source: TileLang 0.1.15
wheel, ``src/op/tcgen5_meta.h`` (instruction shapes of one block), ``cuda/intrinsics/layout/mma_sm100_layout.py`` (layouts, PTX
ISA "data path layout organization") and ``src/cuda/op/gemm.cc:82-91`` (eligibility).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from warpwright.solver.domain.kernel import GemmShape, Memory

__all__ = ["LANES", "Atom", "atom", "needs_half_lanes", "why_none"]

LANES = 128
"""Rows of the largest instruction of one block. One of fewer rows is planned to take as long: no rate of it was found."""

_HALVES, _INTEGERS = ("float16", "bfloat16"), ("int8", "uint8")
_FOLDED_COLUMNS = (256, 128, 64)
"""Columns of a weight-stationary instruction."""
_LARGEST_COLUMNS, _COLUMN_STEP = 256, 8
_ROWS = (LANES, 64, 32)


@dataclass(frozen=True, slots=True)
class Atom:
    """One instruction: ``rows x columns x depth`` elements; ``folded`` if it is weight-stationary."""

    rows: int
    columns: int
    depth: int
    folded: bool = False


def atom(shape: GemmShape) -> Atom | None:
    """The instruction that TileLang selects for a product into tensor memory of one block, or None if it has none."""
    if shape.c_memory is not Memory.TENSOR or shape.b_memory is not Memory.SHARED:
        return None
    if shape.a_memory not in (Memory.SHARED, Memory.TENSOR) or (shape.a_memory is Memory.TENSOR and shape.transpose_a):
        return None
    first = next(iter(_candidates(shape)), None)
    return first if first is not None and _fits(shape, first) else None


def why_none(shape: GemmShape) -> str:
    """Why a product into tensor memory has no instruction, with the shapes that have one."""
    where = f"A in {shape.a_memory.value}, B in {shape.b_memory.value} memory"
    tile = f"{shape.m} x {shape.n} x {shape.k} of {shape.a_dtype} into {shape.accumulator_dtype}"
    return (
        f"{tile} ({where}) has no tcgen05 instruction; one block's has M a multiple of 128 and N of 8, or M of 64 or 32 and N of "
        "64, K a multiple of 16 (8-bit types: 32), B in shared memory and A in shared or, not transposed, in tensor memory"
    )


def needs_half_lanes(shapes: Iterable[GemmShape]) -> bool:
    """Whether products lay a buffer out over 64 of the 128 lanes: 64 rows that are not folded, or with A in tensor memory."""
    return any(
        found is not None and found.rows < LANES and (not found.folded or shape.a_memory is Memory.TENSOR)
        for shape in shapes
        for found in [atom(shape)]
    )


def _candidates(shape: GemmShape) -> list[Atom]:
    """In TileLang's order of preference."""
    kind, result = shape.a_dtype, shape.accumulator_dtype
    halves = kind in _HALVES and result == "float32"
    narrow = kind.startswith(("float8", "float6", "float4")) and result in ("float32", "float16")
    if not halves and not narrow and not (kind in _INTEGERS and result == "int32"):
        return []
    depth = 16 if halves else 32
    rows = next((rows for rows in _ROWS if shape.m % rows == 0), 0)
    if not rows or shape.k % depth:
        return []
    plain = [] if rows == 32 or (rows == 64 and halves) else range(_LARGEST_COLUMNS, 0, -_COLUMN_STEP)
    folded = () if halves and rows == LANES else _FOLDED_COLUMNS
    found = [Atom(rows, columns, depth, folded=True) for columns in folded]
    found += [Atom(rows, columns, depth) for columns in plain if not _skipped(kind, columns)]
    return [one for one in found if shape.n % one.columns == 0]


def _skipped(kind: str, columns: int) -> bool:
    """Eight-bit integers have steps of 16 columns above 32."""
    return kind in _INTEGERS and columns > 32 and columns % 16 != 0


def _fits(shape: GemmShape, found: Atom) -> bool:
    """An A operand in tensor memory asks for more: 64 or 128 rows, and columns in steps of 16 with 128 rows."""
    if shape.a_memory is not Memory.TENSOR:
        return True
    return found.rows == 64 or (found.rows == LANES and found.columns % 16 == 0)
