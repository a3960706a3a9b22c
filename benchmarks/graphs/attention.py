"""Attention loop bodies, forward and backward, Hopper and Blackwell, sub-tiled and not.

Built from the published description (Twill, arXiv 2512.18134, OSDI'26 text): fp16 or bf16, head dimension 128, one iteration
of the innermost loop, tile-level operations that use a whole multiprocessor, sub-tiled to the tensor core's instruction.
The constraint classes are the published ones: unit reservation, dependences with distance, liveness in memories and
registers, one group per operation, blocking waits that occupy the group, hand-offs between groups, and streamed inputs on
a group of their own. What the paper does not state (cost of each small operation, register and hand-off tables) comes from
the hardware profile, so absolute intervals are ours and not comparable with the paper's normalised ones.
"""

from collections.abc import Callable

from benchmarks.graphs.builder import Costs, LoopBuilder
from warpwright.solver.modulo import Group, ModuloMemory, ModuloProblem
from warpwright.solver.profiles import builtin_profile

__all__ = ["attention_cases", "blackwell_backward", "blackwell_forward", "hopper_backward", "hopper_forward"]

DEPTH = 128
"""Head dimension."""
KEYS = 128
"""Keys and values of one iteration."""
WORD = 2
"""Bytes of an fp16 or bf16 element."""


def attention_cases() -> dict[str, Callable[[], ModuloProblem]]:
    """Generators by case name; names without a suffix are the sub-tiled form, as published."""
    return {
        "hopper-forward": lambda: hopper_forward(parts=2),
        "hopper-forward-coarse": lambda: hopper_forward(parts=1),
        "hopper-backward": lambda: hopper_backward(parts=2),
        "hopper-backward-coarse": lambda: hopper_backward(parts=1),
        "blackwell-forward": lambda: blackwell_forward(chunks=2),
        "blackwell-forward-coarse": lambda: blackwell_forward(chunks=1),
        "blackwell-backward": lambda: blackwell_backward(chunks=2),
        "blackwell-backward-reduced": lambda: blackwell_backward(chunks=4, registers=128),
        "blackwell-backward-coarse": lambda: blackwell_backward(chunks=1),
    }


def hopper_forward(*, parts: int, queries: int = 128) -> ModuloProblem:
    """Softmax attention on Hopper: warpgroup MMA with accumulators in registers, ``parts`` row tiles of the query block.

    Two consumer warpgroups of 240 registers and a load warp; with one part both warpgroups act as one of eight warps.
    """
    loop = LoopBuilder("hopper-forward", Costs(builtin_profile("h100")))
    rows = queries // parts
    keys = loop.load("load_k", KEYS * DEPTH * WORD)
    values = loop.load("load_v", KEYS * DEPTH * WORD)
    threads = 256 // parts
    for part in range(parts):
        _hopper_softmax(loop, str(part), rows, threads, keys, values)
    consumers = (Group("wg0", 4, 240), Group("wg1", 4, 240)) if parts > 1 else (Group("wg01", 8, 240),)
    return loop.problem((*consumers, _load_warp()), _shared(loop))


def _hopper_softmax(loop: LoopBuilder, part: str, rows: int, threads: int, keys: str, values: str) -> None:
    costs, tile = loop.costs, rows * KEYS
    held, product = tile // threads, costs.gemm(rows, KEYS, DEPTH)
    full, packed, row = costs.hand_off(4 * tile), costs.hand_off(WORD * tile), costs.hand_off(4 * rows)
    output = rows * DEPTH // threads
    qk = loop.step(f"qk{part}", "tensor_core", product, registers=held, hand_off=full)
    top = loop.step(f"max{part}", "alu", costs.alu(tile), registers=1, hand_off=row)
    alpha = loop.step(f"alpha{part}", "sfu", costs.special(rows), registers=1, hand_off=row)
    shift = loop.step(f"shift{part}", "alu", costs.alu(tile), registers=held, hand_off=full)
    exp = loop.step(f"exp{part}", "sfu", costs.special(tile), registers=held, hand_off=full)
    total = loop.step(f"sum{part}", "alu", costs.alu(tile), registers=1, hand_off=row)
    cast = loop.step(f"cast{part}", "alu", costs.alu(tile // 2), registers=held // 2, hand_off=packed)
    scale = loop.step(f"scale{part}", "alu", costs.alu(rows * DEPTH), registers=output, hand_off=full)
    pv = loop.step(f"pv{part}", "tensor_core", costs.gemm(rows, DEPTH, KEYS), registers=output, hand_off=full)
    loop.streamed(keys, qk, product)
    loop.streamed(values, pv, product)
    loop.flow(qk, top, drain=True)
    loop.flow(qk, shift, drain=True)
    _softmax_edges(loop, top, alpha, shift, exp, total, cast)
    loop.flow(alpha, scale)
    loop.flow(scale, pv)
    loop.flow(cast, pv, hold=product)
    loop.flow(pv, scale, distance=1, drain=True)


def _softmax_edges(loop: LoopBuilder, top: str, alpha: str, shift: str, exp: str, total: str, cast: str) -> None:
    """Running maximum and sum, shared by both architectures."""
    loop.flow(top, top, distance=1)
    loop.flow(top, alpha)
    loop.flow(top, alpha, distance=1)
    loop.flow(top, shift)
    loop.flow(shift, exp)
    loop.flow(exp, total)
    loop.flow(alpha, total)
    loop.flow(total, total, distance=1)
    loop.flow(exp, cast)


def blackwell_forward(*, chunks: int, tiles: int = 2) -> ModuloProblem:
    """Softmax attention on Blackwell: two query tiles of 128 rows, scores and outputs in tensor memory.

    One warp issues the MMAs; three warpgroups may share softmax and rescaling. ``chunks`` cuts each score tile into
    column chunks between tensor memory and registers.
    """
    loop = LoopBuilder("blackwell-forward", Costs(builtin_profile("b200")))
    keys = loop.load("load_k", KEYS * DEPTH * WORD)
    values = loop.load("load_v", KEYS * DEPTH * WORD)
    for tile in range(tiles):
        _blackwell_softmax(loop, str(tile), chunks, keys, values)
    wide = 192 if chunks == 1 else 168
    groups = (Group("wg0", 4, wide), Group("wg1", 4, wide), Group("wg2", 4, 136), Group("mma", 1, 64), _load_warp())
    return loop.problem(groups, (*_shared(loop), _tensor_memory(loop)))


def _blackwell_softmax(loop: LoopBuilder, tile: str, chunks: int, keys: str, values: str) -> None:
    costs, rows = loop.costs, 128
    product, part = costs.gemm(rows, KEYS, DEPTH), rows * KEYS // chunks
    held, row = KEYS // chunks, costs.hand_off(4 * rows)
    full, packed = costs.hand_off(4 * part), costs.hand_off(WORD * part)
    qk = loop.issue(f"qk{tile}", product, tensor_memory=KEYS)
    loop.streamed(keys, qk, product)
    top = loop.step(f"max{tile}", "alu", costs.alu(rows), registers=1, hand_off=row)
    alpha = loop.step(f"alpha{tile}", "sfu", costs.special(rows), registers=1, hand_off=row)
    total = loop.step(f"sum{tile}", "alu", costs.alu(rows), registers=1, hand_off=row)
    pv = loop.issue(f"pv{tile}", product, tensor_memory=DEPTH)
    loop.streamed(values, pv, product)
    for chunk in range(chunks):
        name = f"{tile}_{chunk}"
        read = loop.step(f"read{name}", "tmem", costs.tensor_memory(part), registers=held, hand_off=full)
        peak = loop.step(f"peak{name}", "alu", costs.alu(part), registers=1, hand_off=row)
        shift = loop.step(f"shift{name}", "alu", costs.alu(part), registers=held, hand_off=full)
        exp = loop.step(f"exp{name}", "sfu", costs.special(part), registers=held, hand_off=full)
        add = loop.step(f"add{name}", "alu", costs.alu(part), registers=1, hand_off=row)
        cast = loop.step(f"cast{name}", "alu", costs.alu(part // 2), registers=held // 2, hand_off=packed)
        write = loop.step(
            f"write{name}", "tmem", costs.tensor_memory(part // 2), hand_off=costs.signal(), tensor_memory=held // 2
        )
        loop.flow(qk, read, drain=True, hold=costs.tensor_memory(part))
        loop.flow(read, peak)
        loop.flow(read, shift)
        loop.flow(peak, top)
        loop.flow(top, shift)
        loop.flow(shift, exp)
        loop.flow(exp, add)
        loop.flow(add, total)
        loop.flow(exp, cast)
        loop.flow(cast, write)
        loop.flow(write, pv, hold=product)
    loop.flow(top, top, distance=1)
    loop.flow(top, alpha)
    loop.flow(top, alpha, distance=1)
    loop.flow(alpha, total)
    loop.flow(total, total, distance=1)
    _blackwell_rescale(loop, tile, alpha, pv, chunks)


def _blackwell_rescale(loop: LoopBuilder, tile: str, alpha: str, pv: str, chunks: int) -> None:
    costs, part, held = loop.costs, 128 * DEPTH // chunks, DEPTH // chunks
    move, full = costs.tensor_memory(part), costs.hand_off(4 * part)
    for chunk in range(chunks):
        name = f"{tile}_{chunk}"
        fetch = loop.step(f"fetch{name}", "tmem", move, registers=held, hand_off=full)
        scale = loop.step(f"scale{name}", "alu", costs.alu(part), registers=held, hand_off=full)
        put = loop.step(f"put{name}", "tmem", move, hand_off=costs.signal())
        loop.flow(pv, fetch, distance=1, drain=True)
        loop.flow(alpha, scale)
        loop.flow(fetch, scale)
        loop.flow(scale, put)
        loop.flow(put, pv)


def hopper_backward(*, parts: int) -> ModuloProblem:
    """The gradient of attention on Hopper for 128 keys and 64 queries per iteration, accumulators dK and dV in registers."""
    loop = LoopBuilder("hopper-backward", Costs(builtin_profile("h100")))
    queries, costs = 64, loop.costs
    query = loop.load("load_q", queries * DEPTH * WORD)
    gradient = loop.load("load_do", queries * DEPTH * WORD)
    rows, threads = KEYS // parts, 256 // parts
    stored = []
    for part in range(parts):
        stored.append(_hopper_gradient(loop, str(part), rows, queries, threads, query, gradient))
    size = queries * DEPTH
    product = costs.gemm(queries, DEPTH, KEYS)
    held = size // threads
    dq = loop.step("dq", "tensor_core", product, registers=held, hand_off=costs.hand_off(4 * size))
    for name in stored:
        loop.flow(name, dq, hold=product)
    out = loop.step("dq_out", "alu", costs.alu(size), shared=4 * size)
    loop.flow(dq, out, drain=True)
    store = costs.load(4 * size)
    loop.step("dq_add", "tma", store)
    loop.flow(out, "dq_add", hold=store)
    consumers = (Group("wg0", 4, 240), Group("wg1", 4, 240)) if parts > 1 else (Group("wg01", 8, 240),)
    return loop.problem((*consumers, _load_warp()), _shared(loop, resident=2 * KEYS * DEPTH * WORD))


def _hopper_gradient(
    loop: LoopBuilder, part: str, rows: int, queries: int, threads: int, query: str, gradient: str
) -> str:
    costs, tile = loop.costs, rows * queries
    held, product = tile // threads, costs.gemm(rows, queries, DEPTH)
    full, packed = costs.hand_off(4 * tile), costs.hand_off(WORD * tile)
    wide = rows * DEPTH // threads
    outer = costs.gemm(rows, DEPTH, queries)
    grand = costs.hand_off(4 * rows * DEPTH)
    s = loop.step(f"s{part}", "tensor_core", product, registers=held, hand_off=full)
    shift = loop.step(f"shift{part}", "alu", costs.alu(tile), registers=held, hand_off=full)
    exp = loop.step(f"exp{part}", "sfu", costs.special(tile), registers=held, hand_off=full)
    p16 = loop.step(f"p16_{part}", "alu", costs.alu(tile // 2), registers=held // 2, hand_off=packed)
    dp = loop.step(f"dp{part}", "tensor_core", product, registers=held, hand_off=full)
    less = loop.step(f"less{part}", "alu", costs.alu(tile), registers=held, hand_off=full)
    ds = loop.step(f"ds{part}", "alu", costs.alu(tile), registers=held, hand_off=full)
    ds16 = loop.step(f"ds16_{part}", "alu", costs.alu(tile // 2), registers=held // 2, hand_off=packed)
    put = loop.step(f"put{part}", "alu", costs.alu(tile // 2), hand_off=costs.signal(), shared=WORD * tile)
    dv = loop.step(f"dv{part}", "tensor_core", outer, registers=wide, hand_off=grand)
    dk = loop.step(f"dk{part}", "tensor_core", outer, registers=wide, hand_off=grand)
    for source, target, hold in (
        (query, s, product),
        (gradient, dp, product),
        (gradient, dv, outer),
        (query, dk, outer),
    ):
        loop.streamed(source, target, hold)
    _gradient_edges(loop, (s, shift, exp, p16, dp, less, ds, ds16, dv, dk), outer)
    loop.flow(ds16, put)
    return put


def _gradient_edges(loop: LoopBuilder, names: tuple[str, ...], outer: int) -> None:
    """P = exp(S - L), dS = P (dP - D), and the two accumulators that every iteration adds to."""
    s, shift, exp, p16, dp, less, ds, ds16, dv, dk = names
    loop.flow(s, shift, drain=True)
    loop.flow(shift, exp)
    loop.flow(exp, p16)
    loop.flow(dp, less, drain=True)
    loop.flow(exp, ds)
    loop.flow(less, ds)
    loop.flow(ds, ds16)
    loop.flow(p16, dv, hold=outer)
    loop.flow(ds16, dk, hold=outer)
    loop.flow(dv, dv, distance=1)
    loop.flow(dk, dk, distance=1)


def blackwell_backward(*, chunks: int, registers: int = 168) -> ModuloProblem:
    """The gradient of attention on Blackwell: 128 keys and 128 queries per iteration, all five products in tensor memory.

    S, dP (dQ reuses dP's columns), dV and dK take 128 columns each; ``chunks`` cuts the element-wise work by columns.
    """
    loop = LoopBuilder("blackwell-backward", Costs(builtin_profile("b200")))
    costs, rows, queries = loop.costs, KEYS, 128
    product = costs.gemm(rows, queries, DEPTH)
    query = loop.load("load_q", queries * DEPTH * WORD)
    gradient = loop.load("load_do", queries * DEPTH * WORD)
    s = loop.issue("s", product, tensor_memory=queries)
    dp = loop.issue("dp", product, tensor_memory=queries)
    dv = loop.issue("dv", product, tensor_memory=DEPTH)
    dk = loop.issue("dk", product, tensor_memory=DEPTH)
    dq = loop.issue("dq", product)
    for source, target in ((query, s), (gradient, dp), (gradient, dv), (query, dk)):
        loop.streamed(source, target, product)
    for chunk in range(chunks):
        _blackwell_gradient(loop, str(chunk), rows * queries // chunks, queries // chunks, product)
    loop.flow(dv, dv, distance=1)
    loop.flow(dk, dk, distance=1)
    _blackwell_dq(loop, dq, chunks, queries)
    groups = (*(Group(f"wg{i}", 4, registers) for i in range(3)), Group("mma", 1, 64), _load_warp())
    return loop.problem(groups, (*_shared(loop, resident=2 * KEYS * DEPTH * WORD), _tensor_memory(loop)))


def _blackwell_gradient(loop: LoopBuilder, chunk: str, part: int, held: int, product: int) -> None:
    costs = loop.costs
    move, alu, half = costs.tensor_memory(part), costs.alu(part), costs.alu(part // 2)
    full, packed = costs.hand_off(4 * part), costs.hand_off(WORD * part)
    read = loop.step(f"read_s{chunk}", "tmem", move, registers=held, hand_off=full)
    shift = loop.step(f"shift{chunk}", "alu", alu, registers=held, hand_off=full)
    exp = loop.step(f"exp{chunk}", "sfu", costs.special(part), registers=held, hand_off=full)
    p16 = loop.step(f"p16_{chunk}", "alu", half, registers=held // 2, hand_off=packed)
    put_p = loop.step(f"put_p{chunk}", "tmem", costs.tensor_memory(part // 2), hand_off=costs.signal())
    read_dp = loop.step(f"read_dp{chunk}", "tmem", move, registers=held, hand_off=full)
    less = loop.step(f"less{chunk}", "alu", alu, registers=held, hand_off=full)
    ds = loop.step(f"ds{chunk}", "alu", alu, registers=held, hand_off=full)
    ds16 = loop.step(f"ds16_{chunk}", "alu", half, registers=held // 2, hand_off=packed)
    put = loop.step(f"put_ds{chunk}", "alu", half, hand_off=costs.signal(), shared=WORD * part)
    loop.flow("s", read, drain=True, hold=move)
    loop.flow("dp", read_dp, drain=True, hold=move)
    loop.flow(read, shift)
    loop.flow(shift, exp)
    loop.flow(exp, p16)
    loop.flow(p16, put_p)
    loop.flow(put_p, "dv", hold=product)
    loop.flow(read_dp, less)
    loop.flow(exp, ds)
    loop.flow(less, ds)
    loop.flow(ds, ds16)
    loop.flow(ds16, put)
    loop.flow(put, "dk", hold=product)
    loop.flow(put, "dq", hold=product)


def _blackwell_dq(loop: LoopBuilder, dq: str, chunks: int, queries: int) -> None:
    costs, part = loop.costs, queries * DEPTH // chunks
    move, store = costs.tensor_memory(part), costs.load(4 * part)
    for chunk in range(chunks):
        fetch = loop.step(f"read_dq{chunk}", "tmem", move, registers=DEPTH // chunks, hand_off=costs.hand_off(4 * part))
        out = loop.step(f"out_dq{chunk}", "alu", costs.alu(part), hand_off=costs.signal(), shared=4 * part)
        add = loop.step(f"add_dq{chunk}", "tma", store)
        loop.flow(dq, fetch, drain=True, hold=move)
        loop.flow(fetch, out)
        loop.flow(out, add, hold=store)


def _load_warp() -> Group:
    return Group("load", 1, 64, variable_latency=True)


def _shared(loop: LoopBuilder, resident: int = KEYS * DEPTH * WORD) -> tuple[ModuloMemory, ...]:
    """Shared memory of a block less the tiles that stay for the whole loop."""
    capacity = loop.costs.profile.integer("shared.per_block", "bytes")
    return (ModuloMemory("shared", capacity - resident),)


def _tensor_memory(loop: LoopBuilder) -> ModuloMemory:
    return ModuloMemory("tensor_memory", loop.costs.profile.integer("tensor_memory.columns", "columns"))
