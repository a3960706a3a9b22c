"""KernelGraph: what a kernel does, as operations on buffers inside loop scopes.

The graph is the same for NVIDIA and Ascend kernels; memories and units differ. Resources are integers, units stand in the
names. The frontend writes graphs, families and the simulator read them; nothing here knows TileLang.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from warpwright.solver.domain.errors import GraphError
from warpwright.solver.domain.pins import Pins

__all__ = [
    "ROOT",
    "Access",
    "Buffer",
    "Dependence",
    "GemmShape",
    "Hazard",
    "Issue",
    "KernelGraph",
    "Memory",
    "Op",
    "OpKind",
    "RefusedWidth",
    "SchedulerCall",
    "Scope",
    "ScopeKind",
    "TargetFamily",
    "Unit",
    "UnitUse",
]

ROOT = "tl.ws_scope_root"
"""Id of the kernel's implicit root scope: the value of ``T.WSScope.ROOT`` (seeds/ws_schedule.txt)."""


class TargetFamily(StrEnum):
    """Which kind of schedule the kernel gets: warp schedules on CUDA, buffer schedules on Ascend."""

    CUDA = "cuda"
    ASCEND = "ascend"


class Memory(StrEnum):
    """Where a buffer is stored. ``FRAGMENT`` and ``LOCAL`` are private to a thread group, the rest is shared by the block."""

    GLOBAL = "global"
    SHARED = "shared"
    FRAGMENT = "fragment"
    LOCAL = "local"
    TENSOR = "tensor"
    BARRIER = "barrier"
    UB = "ub"
    L1 = "l1"
    L0A = "l0a"
    L0B = "l0b"
    L0C = "l0c"


class Unit(StrEnum):
    """A hardware unit that an operation occupies. The Ascend names are the pipes of TileLang's ``ascend_pipe.h``."""

    TENSOR_CORE = "tensor_core"
    TMA = "tma"
    ALU = "alu"
    SFU = "sfu"
    LSU = "lsu"
    MTE1 = "mte1"
    MTE2 = "mte2"
    MTE3 = "mte3"
    CUBE = "cube"
    VECTOR = "vector"
    FIXPIPE = "fixpipe"
    SCALAR = "scalar"
    HBM_VECTOR_LOAD = "hbm_vector_load"
    HBM_CUBE_LOAD = "hbm_cube_load"
    HBM_STORE = "hbm_store"


class OpKind(StrEnum):
    """The kind of a statement. One statement of the IR is one operation."""

    TMA_LOAD = "tma_load"
    ASYNC_LOAD = "async_load"
    COPY = "copy"
    TMA_STORE = "tma_store"
    GEMM = "gemm"
    FILL = "fill"
    REDUCE = "reduce"
    PARALLEL = "parallel"
    BIND = "bind"
    WAIT = "wait"
    OPAQUE = "opaque"
    TASK = "task"


class Issue(StrEnum):
    """Whether the issuing instruction stream waits for the operation (blocking) or only starts it (asynchronous)."""

    BLOCKING = "blocking"
    ASYNCHRONOUS = "asynchronous"


class Hazard(StrEnum):
    """Why one access must come before another: read after write, write after read, write after write."""

    RAW = "raw"
    WAR = "war"
    WAW = "waw"


class ScopeKind(StrEnum):
    """How a scope repeats its body."""

    ROOT = "root"
    SERIAL = "serial"
    UNROLLED = "unrolled"
    WHILE = "while"


@dataclass(frozen=True, slots=True)
class UnitUse:
    """Cycles for which one operation, done by the whole block once, occupies one instance of a unit."""

    unit: Unit
    cycles: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer of the kernel. ``bytes`` is the size of one version without alignment.

    ``private``: each thread group that touches it has its own instance (fragments, locals). ``private=False``: one
    instance per block. ``alignment_bytes`` is the alignment that the lowering gives its start; versions lie side by side.
    """

    name: str
    memory: Memory
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    private: bool
    alignment_bytes: int = 1
    registers_per_block: int = 0
    """32-bit registers of one instance over all threads of its role (fragments and locals only)."""
    source_scope: str = ""
    """The storage scope as the IR spells it (``shared.dyn``, ``local.fragment``, ``shared.l1``, ...)."""
    owners: tuple[str, ...] = ()
    """Ascend: loops that may keep several versions of the buffer; empty if it is not eligible."""
    may_share: tuple[str, ...] = ()
    """Ascend: buffers of the same memory that are proven never to be live together with this one."""


@dataclass(frozen=True, slots=True)
class Access:
    """One read or write of a buffer by an operation. ``whole`` is False if only a part is certainly touched."""

    buffer: str
    bytes: int
    whole: bool = True


@dataclass(frozen=True, slots=True)
class GemmShape:
    """Tile shape of a matrix product, M x N x K elements, and where its operands come from."""

    m: int
    n: int
    k: int
    a_dtype: str
    accumulator_dtype: str
    a_memory: Memory
    b_memory: Memory
    c_memory: Memory
    transpose_a: bool = False
    transpose_b: bool = False
    warp_policy: str = "square"
    waits: bool = True
    """False when the instruction is issued without its wait (``wg_wait = -1``)."""


@dataclass(frozen=True, slots=True)
class Op:
    """One statement of the kernel.

    ``latency_cycles`` is the time from issue to the result being usable when the units are free; ``uses`` says for how
    long each unit is busy. Both are for the whole block's work, before it is divided over warpgroups.
    ``guarded``: under an else-less ``if``. ``replicable``: touches only local or fragment storage on its write side, so
    several roles may place it.
    """

    id: str
    kind: OpKind
    scope: str
    issue: Issue
    latency_cycles: int
    uses: tuple[UnitUse, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    text: str = ""
    gemm: GemmShape | None = None
    guarded: bool = False
    replicable: bool = False
    through_registers: bool = False
    """A copy whose data passes through the issuing threads' registers: its role needs registers and several warps."""
    elements: int = 0
    """Elements that the operation processes; 0 if that has no meaning."""
    binds: str | None = None
    """Name of the scalar that a ``BIND`` defines."""
    uses_scalars: tuple[str, ...] = ()
    pending: int = 0
    """For a ``WAIT``: how many products, the youngest ones, may still be in flight after it (``wgmma.wait_group``'s N)."""
    clears_at_start: bool = False
    """A product that overwrites its result in its loop's first iteration and adds to it in all others; the loop has one."""
    runs: int | None = None
    """How often one launch executes it, over all blocks; None if that depends on data or symbolic sizes."""

    @property
    def left_in_flight(self) -> bool:
        """Whether this is a matrix product that its role only starts: its operands and result are free after a wait
        of that role. A product into tensor memory is not: see :attr:`arrives_itself`.
        """
        started = self.gemm is not None and not self.gemm.waits and self.issue is Issue.ASYNCHRONOUS
        return started and not self.arrives_itself

    @property
    def arrives_itself(self) -> bool:
        """Whether this is a product into tensor memory: its role starts it and waits for nothing, because the end of a span
        around it is a ``tcgen05.commit``, which the tensor core performs when all products before it have ended.

        Source: TileLang 0.1.15 wheel, ``materialize_ws_schedule.cc:375-401, 1344-1441``; PTX ISA, tcgen05.commit.
        """
        asynchronous = self.gemm is not None and self.issue is Issue.ASYNCHRONOUS
        return asynchronous and self.gemm is not None and self.gemm.c_memory is Memory.TENSOR


@dataclass(frozen=True, slots=True)
class Scope:
    """A loop, or the root. ``items`` are the ids of its operations and child scopes in source order.

    ``trips`` is None for a symbolic or data-dependent trip count. ``num_stages`` is the source's value.
    """

    id: str
    kind: ScopeKind
    parent: str | None
    trips: int | None
    items: tuple[str, ...]
    num_stages: int = 0
    variable: str = ""
    zero_based: bool = True
    guarded: bool = False
    enable_offset: bool = False
    """Ascend: tasks of one pipe may be in different stages."""
    reads: tuple[str, ...] = ()
    """Buffers that the loop's extent, condition or guard reads: a role that enters must have them."""
    uses_scalars: tuple[str, ...] = ()
    """Bound scalars that the loop's extent, condition or guard uses: a role that enters must have bound them."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """``target`` of iteration i + distance must follow ``source`` of iteration i of ``scope``.

    Distance 0 is inside one iteration (or the root). ``source`` and ``target`` are items of ``scope``: operations, or
    child scopes that stand for everything in them.
    """

    source: str
    target: str
    hazard: Hazard
    buffer: str
    scope: str
    distance: int = 0


@dataclass(frozen=True, slots=True)
class SchedulerCall:
    """Ascend: one closed scheduling problem of the kernel, as TileLang's AutoSchedule asks it.

    ``items`` are the scope's operations and child scopes in task order, ``buffers`` the buffers whose version count is free
    in it, by index. ``arguments`` is the call's canonical JSON
    (:func:`warpwright.solver.ascend.problem.problem_from_call`): lags,
    issue intervals, exclusions, owner exclusions, stage orders and what memory the scope's other buffers leave.
    """

    scope: str
    items: tuple[str, ...]
    buffers: tuple[str, ...]
    arguments: str


@dataclass(frozen=True, slots=True)
class RefusedWidth:
    """A number of warpgroups over which the compiler finds no layouts for the kernel's fragments, with its own words."""

    warpgroups: int
    reason: str


@dataclass(frozen=True, slots=True)
class KernelGraph:
    """A kernel as the solver sees it. ``grid`` has None for a symbolic extent; ``threads`` is what the source declared."""

    name: str
    family: TargetFamily
    arch: str
    threads: int
    grid: tuple[int | None, ...]
    buffers: tuple[Buffer, ...]
    ops: tuple[Op, ...]
    scopes: tuple[Scope, ...]
    dependences: tuple[Dependence, ...]
    pins: Pins = field(default_factory=Pins)
    min_blocks_per_sm: int = 1
    swizzle: bool = False
    flops: int = 0
    """Floating-point operations that one launch executes, partial tiles counted in full; 0 if that depends on data or sizes."""
    global_bytes: int = 0
    """Fewest bytes of global memory that one launch must move (each tensor once); 0 if a shape is symbolic."""
    refused_widths: tuple[RefusedWidth, ...] = ()
    """Widths of the role that holds the fragments, as far as the reader asked the compiler; any other width is not known
    to be refused."""
    calls: tuple[SchedulerCall, ...] = ()
    """Ascend: the scheduling problems, inner loops first, the root last (only where it has several items)."""
    simt: bool = False
    """Ascend: the kernel has a SIMT vector function, which uses part of the unified buffer."""

    def op(self, op_id: str) -> Op:
        """The operation with this id; GraphError if there is none."""
        for op in self.ops:
            if op.id == op_id:
                return op
        raise GraphError(f"the kernel has no operation {op_id!r}", code="graph-unknown-op", place=op_id)

    def buffer(self, name: str) -> Buffer:
        """The buffer with this name; GraphError if there is none."""
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise GraphError(f"the kernel has no buffer {name!r}", code="graph-unknown-buffer", place=name)

    def scope(self, scope_id: str) -> Scope:
        """The scope with this id; GraphError if there is none."""
        for scope in self.scopes:
            if scope.id == scope_id:
                return scope
        raise GraphError(f"the kernel has no scope {scope_id!r}", code="graph-unknown-scope", place=scope_id)

    def ops_in(self, scope_id: str) -> tuple[Op, ...]:
        """Operations directly inside a scope, in source order."""
        by_id = {op.id: op for op in self.ops}
        return tuple(by_id[item] for item in self.scope(scope_id).items if item in by_id)
