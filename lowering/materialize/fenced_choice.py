"""A compiler's own choice with the fences that TileLang leaves out, in its text. Runs in children, and where a user has TileLang.

Our builds add these fences to the lowered code (:mod:`warpwright.lowering.compile.proxy_fences`). What a user's own TileLang
compiles has to have them in the kernel: a statement that reads a tile and a fence behind it, or a product and a fence
before it, under one ``T.ws_op``. The compiler's passes take that as one step, so the release that follows the step follows
the fence, and the fence stays behind the wait for the step's tiles. Where they put it is not assumed: the kernel is lowered
again, and a text counts if its code needs no further fence and is otherwise, line by line, the code of the choice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import tilelang.language as T  # the field's own name for it
from tilelang import tvm

from warpwright.lowering.compile.lower import Lowered, lower
from warpwright.lowering.frontend.statements import Leaf, Loop, Node
from warpwright.lowering.frontend.walk import OP_ID, WalkedKernel, leaves
from warpwright.solver.domain import CandidateKind

__all__ = ["FencedChoice", "Side", "fenced_choice"]

tirx = tvm.tirx

SHARED = ("shared", "shared.dyn")
COPIES = ("tl.tileop.copy", "tl.tileop.tma_copy", "tl.tileop.async_copy")
PRODUCTS = ("tl.tileop.gemm", "tl.tileop.wgmma_gemm")
READS = 1
"""Bit of the access mask of ``tl.region``."""
FENCE = "tl::fence_proxy_async();"
MOST_TRIES = 8
"""Lowerings of a kernel in search of the fewest fences; what is left after them stays."""

Side = Literal["before", "behind"]


@dataclass(frozen=True, slots=True)
class _Place:
    node: Leaf | Loop
    side: Side


@dataclass(frozen=True, slots=True)
class FencedChoice:
    """The kernel as TileLang shall compile it, and what TileLang makes of it.

    ``fences`` says which statements, by id, got a fence on which side. ``missing`` is how many its code still
    lacks, because no place in the text puts them where they belong.
    """

    function: Any
    lowered: Lowered
    fences: Mapping[str, Side] = field(default_factory=dict)
    missing: int = 0


def fenced_choice(
    kernel: WalkedKernel, arch: str, kind: CandidateKind, configs: Mapping[str, Any] | None = None
) -> FencedChoice:
    """The kernel for one of the compiler's own choices; unchanged if its code needs no fence.

    ``configs`` replaces the pass configurations of the choice, where the user has others.
    """
    plain = lower(kernel.function, arch, kind, configs)
    if not plain.fences_added:
        return FencedChoice(kernel.function, plain)

    def tried(places: Sequence[_Place]) -> FencedChoice | None:
        function = _with_fences(kernel.function, places)
        try:
            lowered = lower(function, arch, kind, configs)
        except Exception:  # noqa: BLE001 - TileLang refuses a kernel with many error types; then these places are none
            return None
        if lowered.fences_added or _without_fences(lowered.source) != _without_fences(plain.source):
            return None
        return FencedChoice(function, lowered, {place.node.id: place.side for place in places})

    for places in _attempts(kernel.body, kind):
        found = tried(places)
        if found is None:
            continue
        for place in places[:MOST_TRIES]:
            fewer = [other for other in places if other is not place]
            if fewer and (better := tried(fewer)) is not None:
                places, found = fewer, better
        return found
    return FencedChoice(kernel.function, plain, missing=plain.fences_added)


def _attempts(nodes: list[Node], kind: CandidateKind) -> Iterator[list[_Place]]:
    """Where fences may be needed, the likeliest places first: without roles, threads copy tiles that products read."""
    last = [_Place(node, "behind") for node in _last_readers(nodes)]
    products = [_Place(leaf, "before") for leaf in leaves(nodes) if _operator(leaf.stmt) in PRODUCTS]
    readers = [_Place(leaf, "behind") for leaf in leaves(nodes) if _reads(leaf.stmt, None)]
    first = [products, last] if kind is CandidateKind.UNSPECIALIZED else [last, products]
    seen: list[list[tuple[str, str]]] = []
    for places in (*first, _joined(last, products), readers, _joined(readers, products)):
        names = sorted((place.node.id, str(place.side)) for place in places)
        if names and names not in seen:
            seen.append(names)
            yield places


def _joined(behind: list[_Place], before: list[_Place]) -> list[_Place]:
    """Both; a product has its fence before it."""
    named = {place.node.id for place in before}
    return [*before, *(place for place in behind if place.node.id not in named)]


def _without_fences(source: str) -> list[str]:
    return [line for line in source.splitlines() if line.strip() != FENCE]


def _with_fences(function: Any, places: Sequence[_Place]) -> Any:
    """The function with a fence beside each of these statements, the two under the statement's id."""

    def replace(stmt: Any) -> Any:
        for place in places:
            if stmt.same_as(_statement(place.node)):
                fence = tirx.Evaluate(T.fence_proxy_async())
                both = [fence, stmt] if place.side == "before" else [stmt, fence]
                return tirx.AttrStmt(None, OP_ID, tirx.StringImm(place.node.id), tirx.SeqStmt(both))
        return None

    kinds = sorted({f"tirx.{type(_statement(place.node)).__name__}" for place in places})
    return function.with_body(tirx.stmt_functor.ir_transform(function.body, replace, None, kinds))


def _statement(node: Leaf | Loop) -> Any:
    return node.wrapper if node.wrapper is not None else node.stmt


def _last_readers(nodes: list[Node]) -> Iterator[Leaf | Loop]:
    """Of every sequence that loads tiles: for each tile the last statement that reads it."""
    filled = [buffer for node in nodes if isinstance(node, Leaf) for buffer in _filled(node.stmt)]
    last: dict[int, Leaf | Loop] = {}
    for place, buffer in enumerate(filled):
        for node in nodes:
            if isinstance(node, Leaf | Loop) and _reads(_statement(node), buffer):
                last[place] = node
    given: list[Leaf | Loop] = []
    for node in last.values():
        if not any(node is other for other in given):
            given.append(node)
    yield from given
    for node in nodes:
        if not isinstance(node, Leaf):
            yield from (inner for inner in _last_readers(node.body) if not any(inner is other for other in given))


def _filled(stmt: Any) -> list[Any]:
    """The shared buffers that a copy from global memory fills."""
    if _operator(stmt) not in COPIES:
        return []
    source, target = (_buffer(argument) for argument in stmt.value.args[:2])
    both = source is not None and target is not None
    return [target] if both and str(source.scope()) == "global" and str(target.scope()) in SHARED else []


def _operator(stmt: Any) -> str:
    """The operator that a statement calls; empty if it is no call."""
    call = getattr(stmt, "value", None)
    return str(getattr(call.op, "name", "")) if isinstance(call, tirx.Call) else ""


def _buffer(argument: Any) -> Any:
    """The buffer of a ``tl.region``; None for anything else."""
    named = isinstance(argument, tirx.Call) and str(getattr(argument.op, "name", "")) == "tl.region"
    return argument.args[0].buffer if named and isinstance(argument.args[0], tirx.BufferLoad) else None


def _reads(stmt: Any, buffer: Any | None) -> bool:
    """Whether a statement reads a buffer, or any shared one."""
    found = False
    written: list[Any] = []

    def regions(node: Any) -> None:
        if (
            isinstance(node, tirx.Call)
            and str(getattr(node.op, "name", "")) == "tl.region"
            and not int(node.args[1]) & READS
        ):
            written.append(node.args[0])

    def loads(node: Any) -> None:
        nonlocal found
        if isinstance(node, tirx.BufferLoad) and not any(node.same_as(other) for other in written):
            same = node.buffer.same_as(buffer) if buffer is not None else str(node.buffer.scope()) in SHARED
            found = found or same

    tirx.stmt_functor.post_order_visit(stmt, regions)
    tirx.stmt_functor.post_order_visit(stmt, loads)
    return found
