"""Kernel graphs of the landscape kernels, built directly from a landscape entry's parameters. Pure Python, no TileLang.

``python -m benchmarks.ranking`` forecasts hundreds of entries; building their graphs here takes a millisecond each. The
tests compare these graphs with what the frontend reads from the TileLang kernels beside this module.
"""

from warpwright.solver.domain import (
    ROOT,
    Access,
    Buffer,
    GemmShape,
    Issue,
    KernelGraph,
    Memory,
    Op,
    OpKind,
    Scope,
    ScopeKind,
    TargetFamily,
    Unit,
    UnitUse,
)

__all__ = ["attention_graph", "gemm_graph"]

BF16, F32 = 2, 4
ALU_LANES = 128
EXPONENTIALS = 16
"""Elements per cycle of one SM: fp32 lanes, special-function results (all devices with these kernels)."""
EXPONENTIAL_INSTRUCTIONS = 4
"""Scaling of both operands, their difference in one of them, and range scaling around the result of ``exp2f``."""
ROW_COPIES = 4
"""Threads of a quad that each hold a row's statistic, as the matrix instructions lay out their rows."""
DIVISION_INSTRUCTIONS = 8


def gemm_graph(M: int, N: int, K: int, BM: int, BN: int, BK: int, depth: int, warpgroups: int) -> KernelGraph:
    """C = A @ B^T in bf16 as ``benchmarks.kernels.gemm`` writes it."""
    buffers = (
        _buffer("A", Memory.GLOBAL, (M, K), "bfloat16"),
        _buffer("B", Memory.GLOBAL, (N, K), "bfloat16"),
        _buffer("C", Memory.GLOBAL, (M, N), "bfloat16"),
        _buffer("As", Memory.SHARED, (BM, BK), "bfloat16"),
        _buffer("Bs", Memory.SHARED, (BN, BK), "bfloat16"),
        _buffer("acc", Memory.FRAGMENT, (BM, BN), "float32"),
        _buffer("Cs", Memory.SHARED, (BM, BN), "bfloat16"),
    )
    shape = GemmShape(
        BM, BN, BK, "bfloat16", "float32", Memory.SHARED, Memory.SHARED, Memory.FRAGMENT, transpose_b=True
    )
    tile_a, tile_b, tile_c = BM * BK * BF16, BN * BK * BF16, BM * BN
    ops = (
        _simt("clear", OpKind.FILL, ROOT, (), (_access("acc", tile_c * F32),), tile_c),
        _load("load_a", "k", "A", "As", tile_a),
        _load("load_b", "k", "B", "Bs", tile_b),
        _gemm("product", "k", shape, _access("As", tile_a), _access("Bs", tile_b), _access("acc", tile_c * F32)),
        _simt("stage_c", OpKind.COPY, ROOT, (_access("acc", tile_c * F32),), (_access("Cs", tile_c * BF16),), tile_c),
        _store("store_c", "Cs", "C", tile_c * BF16),
    )
    scopes = (
        Scope(ROOT, ScopeKind.ROOT, None, 1, ("clear", "k", "stage_c", "store_c")),
        Scope("k", ScopeKind.SERIAL, ROOT, -(-K // BK), ("load_a", "load_b", "product"), depth),
    )
    grid = (-(-N // BN), -(-M // BM))
    return KernelGraph(
        "gemm", TargetFamily.CUDA, "sm_90a", 128 * warpgroups, grid, buffers, ops, scopes, (), swizzle=True
    )


def attention_graph(B: int, H: int, S: int, D: int, BM: int, BN: int, depth: int, warpgroups: int) -> KernelGraph:
    """Attention forward in bf16 as ``benchmarks.kernels.attention`` writes it."""
    whole = (B, H, S, D)
    rows = ("row_max", "row_max_prev", "rescale", "row_sum", "denominator")
    buffers = (
        *(_buffer(name, Memory.GLOBAL, whole, "bfloat16") for name in ("Q", "K", "V", "O")),
        _buffer("Qs", Memory.SHARED, (BM, D), "bfloat16"),
        _buffer("Ks", Memory.SHARED, (BN, D), "bfloat16"),
        _buffer("Vs", Memory.SHARED, (BN, D), "bfloat16"),
        _buffer("Os", Memory.SHARED, (BM, D), "bfloat16"),
        _buffer("scores", Memory.FRAGMENT, (BM, BN), "float32"),
        _buffer("probs", Memory.FRAGMENT, (BM, BN), "bfloat16"),
        _buffer("acc", Memory.FRAGMENT, (BM, D), "float32"),
        *(_buffer(name, Memory.FRAGMENT, (BM,), "float32", ROW_COPIES) for name in rows),
    )
    qk = GemmShape(
        *(BM, BN, D, "bfloat16", "float32", Memory.SHARED, Memory.SHARED, Memory.FRAGMENT),
        transpose_b=True,
        warp_policy="full_row",
    )
    pv = GemmShape(
        *(BM, D, BN, "bfloat16", "float32", Memory.FRAGMENT, Memory.SHARED, Memory.FRAGMENT), warp_policy="full_row"
    )
    tile_q, tile_k, square, out = BM * D * BF16, BN * D * BF16, BM * BN, BM * D
    scores, probs = _access("scores", square * F32), _access("probs", square * BF16)
    acc = _access("acc", out * F32)
    row = {name: _access(name, BM * F32) for name in rows}
    exponent = EXPONENTIAL_INSTRUCTIONS
    ops = (
        _load("load_q", ROOT, "Q", "Qs", tile_q),
        _simt("clear_acc", OpKind.FILL, ROOT, (), (acc,), out),
        _simt("clear_denominator", OpKind.FILL, ROOT, (), (row["denominator"],), BM),
        _simt("clear_max", OpKind.FILL, ROOT, (), (row["row_max"],), BM),
        _load("load_k", "k", "K", "Ks", tile_k),
        _simt("clear_scores", OpKind.FILL, "k", (), (scores,), square),
        _gemm("qk", "k", qk, _access("Qs", tile_q), _access("Ks", tile_k), scores),
        _simt("keep_max", OpKind.COPY, "k", (row["row_max"],), (row["row_max_prev"],), BM),
        _simt("new_max", OpKind.REDUCE, "k", (scores, row["row_max"]), (row["row_max"],), square),
        _simt(
            "factor", OpKind.PARALLEL, "k", (row["row_max_prev"], row["row_max"]), (row["rescale"],), BM, exponent, 1
        ),
        _simt("exponentials", OpKind.PARALLEL, "k", (scores, row["row_max"]), (scores,), square, exponent, 1),
        _simt("sum", OpKind.REDUCE, "k", (scores,), (row["row_sum"],), square),
        _simt(
            "denominator",
            OpKind.PARALLEL,
            "k",
            (row["denominator"], row["rescale"], row["row_sum"]),
            (row["denominator"],),
            BM,
        ),
        _simt("cast", OpKind.COPY, "k", (scores,), (probs,), square),
        _simt("rescale_acc", OpKind.PARALLEL, "k", (acc, row["rescale"]), (acc,), out),
        _load("load_v", "k", "V", "Vs", tile_k),
        _gemm("pv", "k", pv, probs, _access("Vs", tile_k), acc),
        _simt("normalise", OpKind.PARALLEL, ROOT, (acc, row["denominator"]), (acc,), out, DIVISION_INSTRUCTIONS, 1),
        _simt("stage_o", OpKind.COPY, ROOT, (acc,), (_access("Os", out * BF16),), out),
        _store("store_o", "Os", "O", out * BF16),
    )
    inside = tuple(op.id for op in ops if op.scope == "k")
    outside = ("load_q", "clear_acc", "clear_denominator", "clear_max", "k", "normalise", "stage_o", "store_o")
    scopes = (
        Scope(ROOT, ScopeKind.ROOT, None, 1, outside),
        Scope("k", ScopeKind.SERIAL, ROOT, -(-S // BN), inside, depth),
    )
    grid = (-(-S // BM), H, B)
    return KernelGraph("attention", TargetFamily.CUDA, "sm_90a", 128 * warpgroups, grid, buffers, ops, scopes, ())


def _buffer(name: str, memory: Memory, shape: tuple[int, ...], dtype: str, copies: int = 1) -> Buffer:
    count = 1
    for extent in shape:
        count *= extent
    size = count * (F32 if dtype == "float32" else BF16)
    private = memory is Memory.FRAGMENT
    registers = -(-size // 4) * copies if private else 0
    return Buffer(name, memory, shape, dtype, size, private, 1024 if memory is Memory.SHARED else 1, registers)


def _access(name: str, size: int) -> Access:
    return Access(name, size)


def _load(op: str, scope: str, source: str, target: str, size: int) -> Op:
    reads, writes = (_access(source, size),), (_access(target, size),)
    return Op(op, OpKind.TMA_LOAD, scope, Issue.ASYNCHRONOUS, 0, (), reads, writes)


def _store(op: str, source: str, target: str, size: int) -> Op:
    reads, writes = (_access(source, size),), (_access(target, size),)
    return Op(op, OpKind.TMA_STORE, ROOT, Issue.BLOCKING, 0, (), reads, writes)


def _gemm(op: str, scope: str, shape: GemmShape, a: Access, b: Access, c: Access) -> Op:
    return Op(op, OpKind.GEMM, scope, Issue.BLOCKING, 0, (), (a, b, c), (c,), gemm=shape)


def _simt(
    op: str,
    kind: OpKind,
    scope: str,
    reads: tuple[Access, ...],
    writes: tuple[Access, ...],
    elements: int,
    instructions: int = 1,
    exponentials: int = 0,
) -> Op:
    uses = [UnitUse(Unit.ALU, -(-elements * instructions // ALU_LANES))]
    if exponentials:
        uses.append(UnitUse(Unit.SFU, -(-elements * exponentials // EXPONENTIALS)))
    return Op(op, kind, scope, Issue.BLOCKING, 0, tuple(uses), reads, writes, elements=elements)
