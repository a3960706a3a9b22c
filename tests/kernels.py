"""Kernel graphs built by hand, for tests that must not depend on a frontend: the kernels of the examples and some oddities.

Costs are those of an H200: 2048 bf16 multiply-adds, 16 exponentials, 128 float32 operations and 170 TMA bytes a cycle.
"""

from dataclasses import dataclass, field, replace
from math import ceil, prod

from warpwright.solver.domain.kernel import (
    ROOT,
    Access,
    Buffer,
    Dependence,
    GemmShape,
    Hazard,
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

BYTES = {"bfloat16": 2, "float32": 4, "int32": 4}
MACS, EXPONENTIALS, FLOATS, TMA_BYTES, TMA_LATENCY, SHARED_BYTES = 2048, 16, 128, 170, 460, 128
ALU_LATENCY, GEMM_LATENCY = 30, 60


@dataclass
class Sketch:
    """A kernel under construction; statements are added in source order, scopes by name."""

    name: str
    threads: int
    buffers: dict[str, Buffer] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    scopes: dict[str, Scope] = field(default_factory=lambda: {ROOT: Scope(ROOT, ScopeKind.ROOT, None, None, ())})
    grid: tuple[int | None, ...] = (64, 16)
    min_blocks: int = 1

    def buffer(self, name: str, memory: Memory, shape: tuple[int, ...], dtype: str = "bfloat16") -> str:
        size = prod(shape) * BYTES[dtype]
        private = memory in (Memory.FRAGMENT, Memory.LOCAL)
        self.buffers[name] = Buffer(
            name,
            memory,
            shape,
            dtype,
            size,
            private,
            alignment_bytes=1024 if memory is Memory.SHARED else 1,
            registers_per_block=ceil(size / 4) if private else 0,
        )
        return name

    def loop(
        self, name: str, trips: int | None, parent: str = ROOT, kind: ScopeKind = ScopeKind.SERIAL, stages: int = 3
    ) -> str:
        self.scopes[name] = Scope(name, kind, parent, trips, (), num_stages=stages, variable=name)
        self._append(parent, name)
        return name

    def add(self, op: Op) -> Op:
        self.ops.append(op)
        self._append(op.scope, op.id)
        return op

    def load(self, op_id: str, target: str, scope: str = ROOT, *, source: str = "G", through: bool = False) -> Op:
        self._global(source)
        size = self.buffers[target].bytes
        return self.add(
            Op(
                op_id,
                OpKind.TMA_LOAD,
                scope,
                Issue.ASYNCHRONOUS,
                TMA_LATENCY + ceil(size / TMA_BYTES),
                (UnitUse(Unit.TMA, ceil(size / TMA_BYTES)),),
                (Access(source, size),),
                (Access(target, size),),
                through_registers=through,
            )
        )

    def store(self, op_id: str, source: str, scope: str = ROOT, *, target: str = "C") -> Op:
        self._global(target)
        size = self.buffers[source].bytes
        return self.add(
            Op(
                op_id,
                OpKind.TMA_STORE,
                scope,
                Issue.BLOCKING,
                130 + ceil(52 * size / 1024),
                (UnitUse(Unit.TMA, ceil(size / TMA_BYTES)),),
                (Access(source, size),),
                (Access(target, size),),
            )
        )

    def copy(self, op_id: str, source: str, target: str, scope: str = ROOT, *, through: bool = False) -> Op:
        size = max(self.buffers[source].bytes, self.buffers[target].bytes)
        shared = Memory.SHARED in (self.buffers[source].memory, self.buffers[target].memory)
        cycles = ceil(size / SHARED_BYTES) if shared else ceil(prod(self.buffers[target].shape) / FLOATS)
        unit = Unit.LSU if shared else Unit.ALU
        op = self._math(op_id, OpKind.COPY, scope, [(unit, cycles)], [source], [target])
        if through:
            op = self.ops[-1] = replace(op, through_registers=True, replicable=self.buffers[target].private)
        return op

    def fill(self, op_id: str, target: str, scope: str = ROOT) -> Op:
        cycles = ceil(prod(self.buffers[target].shape) / FLOATS)
        return self._math(op_id, OpKind.FILL, scope, [(Unit.ALU, cycles)], [], [target])

    def gemm(
        self,
        op_id: str,
        a: str,
        b: str,
        c: str,
        mnk: tuple[int, int, int],
        scope: str = ROOT,
        *,
        policy: str = "square",
        waits: bool = True,
        clears: bool = False,
    ) -> Op:
        m, n, k = mnk
        cycles = ceil(m * n * k / MACS)
        memories = [self.buffers[x].memory for x in (a, b, c)]
        waits = waits and memories[2] is not Memory.TENSOR
        shape = GemmShape(m, n, k, "bfloat16", "float32", *memories, warp_policy=policy, waits=waits)
        accesses = [Access(x, self.buffers[x].bytes) for x in (a, b, c)]
        return self.add(
            Op(
                op_id,
                OpKind.GEMM,
                scope,
                Issue.BLOCKING if waits else Issue.ASYNCHRONOUS,
                cycles + GEMM_LATENCY,
                (UnitUse(Unit.TENSOR_CORE, cycles),),
                tuple(accesses),
                (accesses[2],),
                gemm=shape,
                clears_at_start=clears,
            )
        )

    def wait(self, op_id: str, buffers: list[str], scope: str = ROOT, *, pending: int = 0) -> Op:
        accesses = tuple(Access(b, self.buffers[b].bytes) for b in buffers)
        return self.add(Op(op_id, OpKind.WAIT, scope, Issue.BLOCKING, 1, (), accesses, accesses, pending=pending))

    def each(
        self,
        op_id: str,
        reads: list[str],
        writes: list[str],
        scope: str = ROOT,
        *,
        exponentials: int = 0,
        floats: int = 0,
        kind: OpKind = OpKind.PARALLEL,
        guarded: bool = False,
        scalars: tuple[str, ...] = (),
    ) -> Op:
        uses = [(Unit.SFU, ceil(exponentials / EXPONENTIALS)), (Unit.ALU, ceil(floats / FLOATS))]
        op = self._math(op_id, kind, scope, uses, reads, writes)
        self.ops[-1] = replace(op, guarded=guarded, uses_scalars=scalars)
        return self.ops[-1]

    def bind(self, op_id: str, scalar: str, scope: str = ROOT, *, scalars: tuple[str, ...] = ()) -> Op:
        op = Op(op_id, OpKind.BIND, scope, Issue.BLOCKING, 4, (), (), (), replicable=True, binds=scalar)
        return self.add(replace(op, uses_scalars=scalars))

    def graph(self, arch: str = "sm_90a") -> KernelGraph:
        return KernelGraph(
            name=self.name,
            family=TargetFamily.CUDA,
            arch=arch,
            threads=self.threads,
            grid=self.grid,
            buffers=tuple(self.buffers.values()),
            ops=tuple(self.ops),
            scopes=tuple(self.scopes.values()),
            dependences=tuple(self._dependences()),
            min_blocks_per_sm=self.min_blocks,
        )

    def _math(
        self, op_id: str, kind: OpKind, scope: str, uses: list[tuple[Unit, int]], reads: list[str], writes: list[str]
    ) -> Op:
        private = all(self.buffers[b].private for b in writes)
        used = tuple(UnitUse(unit, cycles) for unit, cycles in uses if cycles)
        longest = max((use.cycles for use in used), default=0)
        return self.add(
            Op(
                op_id,
                kind,
                scope,
                Issue.BLOCKING,
                longest + ALU_LATENCY,
                used,
                tuple(Access(b, self.buffers[b].bytes) for b in reads),
                tuple(Access(b, self.buffers[b].bytes) for b in writes),
                replicable=private and all(self.buffers[b].private for b in reads),
                elements=max((prod(self.buffers[b].shape) for b in writes), default=0),
            )
        )

    def _global(self, name: str) -> None:
        if name not in self.buffers:
            self.buffers[name] = Buffer(name, Memory.GLOBAL, (4096, 4096), "bfloat16", 4096 * 4096 * 2, False)

    def _append(self, scope: str, item: str) -> None:
        self.scopes[scope] = replace(self.scopes[scope], items=(*self.scopes[scope].items, item))

    def _dependences(self) -> list[Dependence]:
        touched = {op.id: ({a.buffer for a in op.reads}, {a.buffer for a in op.writes}) for op in self.ops}
        for scope in reversed(self.scopes.values()):
            reads: set[str] = set().union(*(touched[item][0] for item in scope.items))
            writes: set[str] = set().union(*(touched[item][1] for item in scope.items))
            touched[scope.id] = (reads, writes)
        found = []
        for scope in self.scopes.values():
            for here, source in enumerate(scope.items):
                for there, target in enumerate(scope.items):
                    distance = 0 if here < there else 1
                    if distance and scope.kind is ScopeKind.ROOT:
                        continue
                    for hazard, first, second in ((Hazard.RAW, 1, 0), (Hazard.WAR, 0, 1), (Hazard.WAW, 1, 1)):
                        both = touched[source][first] & touched[target][second]
                        found += [Dependence(source, target, hazard, b, scope.id, distance) for b in sorted(both)]
        return found


def gemm(
    bm: int = 128,
    bn: int = 256,
    bk: int = 64,
    *,
    threads: int = 256,
    trips: int | None = 64,
    epilogue: bool = True,
    policy: str = "square",
) -> KernelGraph:
    """bf16 matrix product with an epilogue through shared memory: the first example."""
    s = Sketch("gemm", threads)
    s.buffer("As", Memory.SHARED, (bm, bk))
    s.buffer("Bs", Memory.SHARED, (bn, bk))
    s.buffer("acc", Memory.FRAGMENT, (bm, bn), "float32")
    s.fill("clear", "acc")
    s.loop("k", trips)
    s.load("copy_a", "As", "k", source="A")
    s.load("copy_b", "Bs", "k", source="B")
    s.gemm("mma", "As", "Bs", "acc", (bm, bn, bk), "k", policy=policy)
    s.each("relu", ["acc"], ["acc"], floats=bm * bn)
    if epilogue:
        s.buffer("Cs", Memory.SHARED, (bm, bn))
        s.copy("stage_c", "acc", "Cs")
        s.store("store_c", "Cs")
    return s.graph()


def persistent_gemm(bm: int = 128, bn: int = 128, bk: int = 64, *, trips: int | None = 64) -> KernelGraph:
    """The same product with a persistent outer loop over tiles and scalar binds for the tile's coordinates."""
    s = Sketch("persistent_gemm", 256)
    s.buffer("As", Memory.SHARED, (bm, bk))
    s.buffer("Bs", Memory.SHARED, (bn, bk))
    s.buffer("Cs", Memory.SHARED, (bm, bn))
    s.buffer("acc", Memory.FRAGMENT, (bm, bn), "float32")
    s.loop("tile", None, kind=ScopeKind.WHILE)
    s.bind("row", "by", "tile")
    s.bind("column", "bx", "tile")
    s.fill("clear", "acc", "tile")
    s.loop("k", trips, "tile")
    for op_id, target, source, scalar in (("copy_a", "As", "A", "by"), ("copy_b", "Bs", "B", "bx")):
        s.load(op_id, target, "k", source=source)
        s.ops[-1] = replace(s.ops[-1], uses_scalars=(scalar,))
    s.gemm("mma", "As", "Bs", "acc", (bm, bn, bk), "k")
    s.copy("stage_c", "acc", "Cs", "tile")
    s.store("store_c", "Cs", "tile")
    s.ops[-1] = replace(s.ops[-1], uses_scalars=("by", "bx"))
    return s.graph()


def attention(
    bm: int = 128, bn: int = 128, dim: int = 128, *, threads: int = 256, trips: int | None = 64, waits: bool = True
) -> KernelGraph:
    """Attention forward with running maximum and sum: the second example. ``waits=False`` splits issue and wait of QK."""
    s = Sketch("attention", threads)
    for name, shape in (("Qs", (bm, dim)), ("Ks", (bn, dim)), ("Vs", (bn, dim)), ("Os", (bm, dim))):
        s.buffer(name, Memory.SHARED, shape)
    s.buffer("scores", Memory.FRAGMENT, (bm, bn), "float32")
    s.buffer("probs", Memory.FRAGMENT, (bm, bn))
    s.buffer("acc", Memory.FRAGMENT, (bm, dim), "float32")
    for name in ("row_max", "row_max_prev", "rescale", "row_sum", "denominator"):
        s.buffer(name, Memory.FRAGMENT, (bm,), "float32")
    s.load("copy_q", "Qs", source="Q")
    s.fill("clear_acc", "acc")
    s.fill("clear_sum", "denominator")
    s.fill("low_max", "row_max")
    s.loop("k", trips, stages=2)
    s.load("copy_k", "Ks", "k", source="K")
    s.fill("clear_scores", "scores", "k")
    s.gemm("qk", "Qs", "Ks", "scores", (bm, bn, dim), "k", policy="fullrow", waits=waits)
    if not waits:
        s.wait("qk_done", ["scores"], "k")
    s.copy("keep_max", "row_max", "row_max_prev", "k")
    s.each("new_max", ["scores", "row_max"], ["row_max"], "k", floats=bm * bn, kind=OpKind.REDUCE)
    s.each("factor", ["row_max_prev", "row_max"], ["rescale"], "k", exponentials=bm)
    s.each("exponent", ["scores", "row_max"], ["scores"], "k", exponentials=bm * bn, floats=bm * bn)
    s.each("sum", ["scores"], ["row_sum"], "k", floats=bm * bn, kind=OpKind.REDUCE)
    s.each("total", ["denominator", "rescale", "row_sum"], ["denominator"], "k", floats=bm)
    s.copy("cast", "scores", "probs", "k")
    s.each("scale", ["acc", "rescale"], ["acc"], "k", floats=bm * dim)
    s.load("copy_v", "Vs", "k", source="V")
    s.gemm("pv", "probs", "Vs", "acc", (bm, dim, bn), "k", policy="fullrow")
    s.each("normalise", ["acc", "denominator"], ["acc"], floats=bm * dim)
    s.copy("stage_o", "acc", "Os")
    s.store("store_o", "Os", target="O")
    return s.graph()


def gemm_in_pairs(bm: int = 128, bn: int = 256, bk: int = 64) -> KernelGraph:
    """Two steps of the reduction an iteration, both products only started; the first wait leaves the second in flight."""
    s = Sketch("gemm_in_pairs", 256)
    for name, shape in (("As", (bm, bk)), ("Bs", (bn, bk)), ("At", (bm, bk)), ("Bt", (bn, bk))):
        s.buffer(name, Memory.SHARED, shape)
    s.buffer("acc", Memory.FRAGMENT, (bm, bn), "float32")
    s.fill("clear", "acc")
    s.loop("k", 32)
    for op_id, target, source in (("a", "As", "A"), ("b", "Bs", "B"), ("a_next", "At", "A"), ("b_next", "Bt", "B")):
        s.load(f"copy_{op_id}", target, "k", source=source)
    s.gemm("even", "As", "Bs", "acc", (bm, bn, bk), "k", policy="fullrow", waits=False)
    s.gemm("odd", "At", "Bt", "acc", (bm, bn, bk), "k", policy="fullrow", waits=False)
    s.wait("even_done", [], "k", pending=1)
    s.wait("odd_done", [], "k")
    s.each("relu", ["acc"], ["acc"], floats=bm * bn)
    return s.graph()


def two_gemms(bm: int = 128, bn: int = 128, bk: int = 64) -> KernelGraph:
    """Two products in a row over the same loop, without a softmax between them."""
    s = Sketch("two_gemms", 256)
    for name, shape in (("As", (bm, bk)), ("Bs", (bn, bk)), ("Ds", (bn, bn))):
        s.buffer(name, Memory.SHARED, shape)
    s.buffer("first", Memory.FRAGMENT, (bm, bn), "float32")
    s.buffer("half", Memory.FRAGMENT, (bm, bn))
    s.buffer("second", Memory.FRAGMENT, (bm, bn), "float32")
    s.fill("clear", "second")
    s.loop("k", 32)
    s.load("copy_a", "As", "k", source="A")
    s.load("copy_b", "Bs", "k", source="B")
    s.fill("clear_first", "first", "k")
    s.gemm("up", "As", "Bs", "first", (bm, bn, bk), "k")
    s.copy("cast", "first", "half", "k")
    s.load("copy_d", "Ds", "k", source="D")
    s.gemm("down", "half", "Ds", "second", (bm, bn, bn), "k")
    return s.graph()


def too_many_accumulators() -> KernelGraph:
    """No legal schedule: 512 x 256 accumulators do not fit the registers of any legal number of warps."""
    return gemm(512, 256, 32, threads=256)


def rewrites_after_use() -> KernelGraph:
    """The loop uses the buffer first and refills it for the next iteration: a value that lives across the back edge."""
    s = Sketch("rewrites", 256)
    s.buffer("As", Memory.SHARED, (128, 64))
    s.buffer("Bs", Memory.SHARED, (128, 64))
    s.buffer("acc", Memory.FRAGMENT, (128, 128), "float32")
    s.fill("clear", "acc")
    s.load("first", "As", source="A")
    s.loop("k", 16)
    s.load("copy_b", "Bs", "k", source="B")
    s.gemm("mma", "As", "Bs", "acc", (128, 128, 64), "k")
    s.load("next", "As", "k", source="A")
    return s.graph()


def blackwell_gemm(bm: int = 128, bn: int = 128, bk: int = 64, *, trips: int | None = 64) -> KernelGraph:
    """A product that accumulates in tensor memory, with an epilogue that reads it back."""
    s = Sketch("blackwell_gemm", 128)
    _tiles(s, bm, bn, bk)
    s.loop("k", trips)
    _accumulate(s, (bm, bn, bk), ROOT)
    return s.graph("sm_100a")


def persistent_blackwell_gemm(bm: int = 128, bn: int = 128, bk: int = 64, *, trips: int | None = 64) -> KernelGraph:
    """The same product over many tiles: the accumulator of one is read back while the next one is computed."""
    s = Sketch("persistent_blackwell_gemm", 128)
    _tiles(s, bm, bn, bk)
    s.loop("tile", None, stages=0)
    s.loop("k", trips, "tile")
    _accumulate(s, (bm, bn, bk), "tile")
    return s.graph("sm_100a")


def _tiles(s: Sketch, bm: int, bn: int, bk: int) -> None:
    """Buffers of a product into tensor memory."""
    s.buffer("As", Memory.SHARED, (bm, bk))
    s.buffer("Bs", Memory.SHARED, (bn, bk))
    s.buffer("Cs", Memory.SHARED, (bm, bn))
    s.buffer("acc", Memory.TENSOR, (bm, bn), "float32")
    s.buffer("out", Memory.FRAGMENT, (bm, bn), "float32")


def _accumulate(s: Sketch, mnk: tuple[int, int, int], outer: str) -> None:
    """Statements of a product into tensor memory, as the frontend reads them: started only, read back through registers."""
    s.load("copy_a", "As", "k", source="A")
    s.load("copy_b", "Bs", "k", source="B")
    s.gemm("mma", "As", "Bs", "acc", mnk, "k", clears=True)
    s.copy("read_back", "acc", "out", outer, through=True)
    s.copy("stage_c", "out", "Cs", outer, through=True)
    s.store("store_c", "Cs", outer)


def filled_twice() -> KernelGraph:
    """Filled, used, filled and used again in one iteration."""
    s = Sketch("twice", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.fill("clear", "acc")
    s.loop("k", 8)
    for part in ("first", "second"):
        s.load(f"copy_{part}", "As", "k")
        s.gemm(f"mma_{part}", "As", "As", "acc", (64, 64, 64), "k")
    return s.graph()


def scattered(bm: int = 64, bk: int = 32, *, trips: int = 64) -> KernelGraph:
    """Rows scaled element by element: bulk copies fill a ring and ordinary loads read it."""
    s = Sketch("scattered", 128)
    s.buffer("Ss", Memory.SHARED, (bm,), "float32")
    s.buffer("Xs", Memory.SHARED, (bm, bk), "float32")
    s.buffer("y", Memory.FRAGMENT, (bm, bk), "float32")
    s.buffer("Y", Memory.GLOBAL, (bk, bm), "float32")
    s.load("copy_s", "Ss", source="S")
    s.loop("k", trips)
    s.load("copy_x", "Xs", "k", source="X")
    s.each("scale", ["Xs", "Ss"], ["y"], "k", floats=2 * bm * bk)
    s.copy("store_y", "y", "Y", "k")
    return s.graph()
