"""Adds the fences between proxies that TileLang leaves out to its lowered device code. Runs in child processes only.

TileLang 0.1.15 gives a slot back straight after ordinary shared loads: ``ptx_arrive_barrier`` follows the reads, and the bulk
copy that refills the slot waits for nothing else. On an H200 it overwrites data that is still being read, in the builds of the
compiler's own choices as well as in Warpwright's (docs/findings/release-after-generic-reads.md). Here each thread's
path is followed with the buffers that it has read through the generic proxy since its last fence; an arrival that
lets a bulk copy into such a buffer gets
``fence.proxy.async.shared::cta`` before it. The other way round, ``cp.async`` writes through the generic proxy when it
ends, which is at a wait: a warpgroup product that reads such a tile by descriptors behind a wait gets its fence too, where
TileLang omits it (in iterations that it peels off a loop, and after a load role). A kernel without such a place is returned
unchanged.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tvm import IRModule, arith, ir, tirx

__all__ = ["Fenced", "with_proxy_fences"]

FENCE = "tl.fence_proxy_async"
WAITS = ("tl.mbarrier_wait_parity", "tirx.ptx_wait_barrier")
ARRIVALS = ("tirx.ptx_arrive_barrier",)
BLOCK_SYNCS = ("tirx.tvm_storage_sync",)
BULK_LOADS = ("tl.tma_load", "tl.tma_load_im2col", "tl.tma_load_multicast", "tl.tma_load_gather4")
ASYNC_READERS = (
    *("tl.tma_store", "tl.tma_reduce", "tl.ptx_wgmma", "tl.ptx_tcgen05", "tl.initialize_wgmma_descriptor"),
    *("tl.initialize_tcgen05_descriptor", "tl.increase_descriptor_offset", "tirx.ptx_cp_async_bulk"),
)
"""Prefixes of operators that reach shared memory through the asynchronous proxy, or only make a descriptor of it."""
COPIES = ("tirx.ptx_cp_async", "tl.ptx_cp_async")
DESCRIPTORS = ("tl.initialize_wgmma_descriptor",)
COPY_ENDS = (*WAITS, "tirx.ptx_wait_group", "tl.ptx_wait_group")
PRODUCT_BEGINS = "tl.warpgroup_arrive"
READS = 1
"""Bit of the access mask of ``tvm_access_ptr``."""

LANDED = -1
"""Represents, in a state, the tiles that ``cp.async`` has written since the last fence."""

State = frozenset[int]
"""Buffers, by number, that the thread may have read through the generic proxy since its last fence."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """The module, and how many fences were added to it; the same module object if none was."""

    module: IRModule
    added: int


@dataclass(frozen=True, slots=True)
class _Barrier:
    """A place in an array of mbarriers: the array by number and the bounds of the index; ``array`` -1 may be any."""

    array: int
    low: int
    high: int

    def meets(self, other: "_Barrier") -> bool:
        """Whether both may be one barrier."""
        if -1 in (self.array, other.array):
            return True
        return self.array == other.array and self.low <= other.high and other.low <= self.high


def with_proxy_fences(module: IRModule) -> Fenced:
    """The device functions of a lowered module with a fence before every arrival that needs one."""
    functions, added = {}, 0
    for name, function in module.functions.items():
        rewriter = _Rewriter(function)
        body = rewriter.run()
        functions[name] = function.with_body(body) if rewriter.added else function
        added += rewriter.added
    return Fenced(IRModule(functions, attrs=module.attrs) if added else module, added)


@dataclass(slots=True)
class _Rewriter:
    function: tirx.PrimFunc
    added: int = 0
    _variables: list[Any] = field(default_factory=list)
    _guards: dict[int, list[_Barrier]] = field(default_factory=dict)
    """Barriers that a thread has waited for when it starts a bulk copy into a buffer, in this iteration or an earlier one."""
    _direct: set[int] = field(default_factory=set)
    """Buffers that a thread refills after reading them itself: only a barrier of the block is in between."""
    _copied: bool = False
    """Whether products read, by descriptors, what ``cp.async`` writes."""
    _analyzer: arith.Analyzer = field(default_factory=arith.Analyzer)

    def run(self) -> Any:
        """The new body."""
        body = self.function.body
        self._collect(body, [])
        written = {buffer for call in _calls(body, COPIES) for buffer in self._pointed(call)}
        described = {buffer for call in _calls(body, DESCRIPTORS) for buffer in self._pointed(call, READS)}
        self._copied = bool(written & described)
        if not self._guards and not self._copied:
            return body
        self._walk(self.function.body, frozenset())
        self.added = 0
        return self._walk(self.function.body, frozenset())[0]

    def _number(self, variable: Any) -> int:
        for number, known in enumerate(self._variables):
            if known.same_as(variable):
                return number
        self._variables.append(variable)
        return len(self._variables) - 1

    def _barrier(self, argument: Any) -> _Barrier:
        if not isinstance(argument, tirx.BufferLoad):
            return _Barrier(-1, 0, 0)
        bound = self._analyzer.const_int_bound(argument.indices[0])
        return _Barrier(self._number(argument.buffer.data), int(bound.min_value), int(bound.max_value))

    def _collect(self, stmt: Any, seen: list[_Barrier]) -> list[_Barrier]:
        """Records the waits before every bulk copy; returns the waits that a thread may have passed afterwards."""
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                seen = self._collect(part, seen)
            return seen
        if isinstance(stmt, tirx.IfThenElse):
            then = self._collect(stmt.then_case, seen)
            other = seen if stmt.else_case is None else self._collect(stmt.else_case, seen)
            return [*then, *(wait for wait in other if wait not in then)]
        if isinstance(stmt, tirx.For | tirx.While):
            if isinstance(stmt, tirx.For):
                self._analyzer.bind(stmt.loop_var, ir.Range.from_min_extent(stmt.min, stmt.extent))
            around = [self._barrier(call.args[0]) for call in _calls(stmt.body, WAITS)]
            return self._collect(stmt.body, [*seen, *(wait for wait in around if wait not in seen)])
        if hasattr(stmt, "body"):
            return self._collect(stmt.body, seen)
        for call in _calls(stmt, BULK_LOADS):
            for buffer in self._pointed(call):
                self._guards.setdefault(buffer, []).extend(seen)
        return [*seen, *(self._barrier(call.args[0]) for call in _calls(stmt, WAITS))]

    def _walk(self, stmt: Any, state: State) -> tuple[Any, State]:
        """The statement with its fences, and the state after it."""
        if isinstance(stmt, tirx.SeqStmt):
            parts: list[Any] = []
            for place, part in enumerate(stmt.seq):
                begins = LANDED in state and _name(getattr(part, "value", None)) == PRODUCT_BEGINS
                following = stmt.seq[place + 1] if place + 1 < len(stmt.seq) else None
                if begins and _name(getattr(following, "value", None)) != FENCE:
                    parts, state = [*parts, self._fence()], frozenset()
                new, state = self._walk(part, state)
                parts += list(new.seq) if isinstance(new, tirx.SeqStmt) else [new]
            same = len(parts) == len(stmt.seq) and all(a.same_as(b) for a, b in zip(parts, stmt.seq, strict=True))
            return (stmt if same else tirx.SeqStmt(parts)), state
        if isinstance(stmt, tirx.IfThenElse):
            state |= self._read(stmt.condition)
            then, after = self._walk(stmt.then_case, state)
            if stmt.else_case is None:
                same = then.same_as(stmt.then_case)
                return (stmt if same else tirx.IfThenElse(stmt.condition, then, None)), after | state
            other, behind = self._walk(stmt.else_case, state)
            same = then.same_as(stmt.then_case) and other.same_as(stmt.else_case)
            return (stmt if same else tirx.IfThenElse(stmt.condition, then, other)), after | behind
        if isinstance(stmt, tirx.For | tirx.While):
            return self._loop(stmt, state)
        if hasattr(stmt, "body"):
            body, after = self._walk(stmt.body, state)
            return (stmt if body.same_as(stmt.body) else _with_body(stmt, body)), after
        return self._statement(stmt, state)

    def _loop(self, stmt: Any, state: State) -> tuple[Any, State]:
        """A loop's body starts with everything that may be open before the loop or after an iteration."""
        at_start, counted = state, self.added
        while True:
            self.added = counted
            body, after = self._walk(stmt.body, at_start)
            if after <= at_start:
                return (stmt if body.same_as(stmt.body) else _with_body(stmt, body)), state | after
            at_start |= after

    def _statement(self, stmt: Any, state: State) -> tuple[Any, State]:
        call = stmt.value if isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call) else None
        name = _name(call)
        if name == FENCE:
            return stmt, frozenset()
        if name in BULK_LOADS and call is not None:
            self._direct |= state & set(self._pointed(call))
        if name in ARRIVALS and call is not None:
            barrier = self._barrier(call.args[0])
            needed = any(barrier.meets(guard) for buffer in state for guard in self._guards.get(buffer, ()))
        else:
            needed = name in BLOCK_SYNCS and bool(state & self._direct)
        if needed:
            return tirx.SeqStmt([self._fence(), stmt]), frozenset()
        landed = {LANDED} if self._copied and name in COPY_ENDS else set()
        return stmt, state | self._read(stmt) | landed

    def _fence(self) -> Any:
        self.added += 1
        return tirx.Evaluate(tirx.call_intrin("handle", ir.Op.get(FENCE)))

    def _read(self, node: Any) -> State:
        """Buffers that bulk copies fill and this statement or expression reads through the generic proxy."""
        found: set[int] = set()
        hidden: list[Any] = []

        def visit(part: Any) -> None:
            name = _name(part)
            if name.startswith(ASYNC_READERS) or name in BULK_LOADS:
                hidden.extend(_loads_and_pointers(part))
            elif name == "tirx.tvm_access_ptr" and not any(part.same_as(other) for other in hidden):
                mask = part.args[4]
                if not isinstance(mask, tirx.IntImm) or int(mask.value) & READS:
                    found.add(self._number(part.args[1]))
            elif isinstance(part, tirx.BufferLoad) and not any(part.same_as(other) for other in hidden):
                found.add(self._number(part.buffer.data))

        for part in _outermost_first(node):
            visit(part)
        return frozenset(found & self._guards.keys())

    def _pointed(self, call: Any, bits: int = ~READS) -> Iterator[int]:
        """Buffers that a copy fills, by its pointers with the bit for writing; those with other ``bits`` if given."""
        for part in _outermost_first(call):
            if _name(part) == "tirx.tvm_access_ptr" and int(part.args[4]) & bits:
                yield self._number(part.args[1])


def _name(node: Any) -> str:
    return str(getattr(node.op, "name", "")) if isinstance(node, tirx.Call) else ""


def _outermost_first(node: Any) -> list[Any]:
    found: list[Any] = []
    tirx.stmt_functor.post_order_visit(node, found.append)
    return found[::-1]


def _calls(node: Any, names: tuple[str, ...]) -> list[Any]:
    return [part for part in reversed(_outermost_first(node)) if _name(part) in names]


def _loads_and_pointers(call: Any) -> list[Any]:
    parts = _outermost_first(call)
    return [part for part in parts if isinstance(part, tirx.BufferLoad) or _name(part) == "tirx.tvm_access_ptr"]


def _with_body(stmt: Any, body: Any) -> Any:
    if isinstance(stmt, tirx.For):
        parts = (stmt.loop_var, stmt.min, stmt.extent, stmt.kind, body)
        return tirx.For(*parts, stmt.thread_binding, stmt.annotations, stmt.step)
    if isinstance(stmt, tirx.While):
        return tirx.While(stmt.condition, body)
    if isinstance(stmt, tirx.AttrStmt):
        return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body)
    raise TypeError(f"a {type(stmt).__name__} contains statements and is not known here")
