"""The reads and writes of a statement, as boxes of buffers. Runs in child processes only: it reads TVM objects.

A box that cannot be computed is the whole buffer; a write that does not certainly cover its whole buffer never hides an
earlier one. Both err on the side of more dependences.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.operators import GEMMS, TILE_OPERATORS
from warpwright.solver.domain import NotApplicable

__all__ = ["Box", "Touch", "clears_at_start", "scalars_in", "touches_of", "touches_of_expression"]

tirx = tvm.tirx
arith = tvm.arith


@dataclass(frozen=True, slots=True)
class Box:
    """Half-open ranges, one per dimension: first index and extent as expressions of outer variables."""

    mins: tuple[Any, ...]
    extents: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Touch:
    """One read or write. ``box`` None means: anywhere in the buffer.

    ``dense``: certainly every element of the box; ``covers``: certainly every element of the buffer.
    """

    buffer: Any
    write: bool
    box: Box | None
    covers: bool = False
    dense: bool = False
    of_own: bool = False
    """A read of only what the same statement wrote in an earlier iteration of its loop."""

    def elements(self) -> int:
        """Elements of the box, or of the buffer if the box is unknown; 0 if symbolic."""
        extents = self.box.extents if self.box is not None else tuple(self.buffer.shape)
        total = 1
        for extent in extents:
            total *= _constant(extent) or 0
        return total


def touches_of(stmt: Any) -> list[Touch]:
    """Reads and writes of one leaf statement."""
    if isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.Call):
        name = str(stmt.value.op.name)
        if name in TILE_OPERATORS:
            return _tile_operator(name, stmt.value)
    return _plain(stmt)


def touches_of_expression(expression: Any) -> list[Touch]:
    """Reads of a condition, an extent or an index."""
    return _plain(tirx.Evaluate(expression))


def scalars_in(node: Any) -> list[Any]:
    """Variables that a statement or expression uses, each once, in post order."""
    found: list[Any] = []

    def visit(part: Any) -> None:
        if isinstance(part, tirx.Var) and not any(part.same_as(var) for var in found):
            found.append(part)

    tirx.stmt_functor.post_order_visit(node, visit)
    return found


def clears_at_start(stmt: Any, loop: Any) -> bool:
    """Whether a product overwrites its result in a loop's first iteration (``clear_accum=k == 0``), which there surely is."""
    if not isinstance(stmt, tirx.Evaluate) or not isinstance(stmt.value, tirx.Call) or not isinstance(loop, tirx.For):
        return False
    if str(stmt.value.op.name) not in GEMMS or (_constant(loop.extent) or 0) < 1:
        return False
    clears = stmt.value.args[9]
    if isinstance(clears, tirx.IntImm):
        return False
    first = tirx.stmt_functor.substitute(clears, {loop.loop_var: loop.min})
    return bool(arith.Analyzer().can_prove(first))


def _tile_operator(name: str, call: Any) -> list[Touch]:
    """Regions of a tile operator, by the argument order of TileLang 0.1.15 (src/op/gemm.cc:72-133, reduce.cc:70-85, ...)."""
    arguments = list(call.args)
    if name in GEMMS:
        touches = [_region(arguments[0], write=False), _region(arguments[1], write=False)]
        clears = arguments[9]
        accumulates = not (isinstance(clears, tirx.IntImm) and int(clears.value) == 1)
        result = _region(arguments[2], write=True)
        touches += [Touch(result.buffer, False, result.box)] if accumulates else []
        touches.append(result)
        regions = 3
    elif name == "tl.tileop.fill":
        touches, regions = [_region(arguments[0], write=True)], 1
    elif name == "tl.tileop.reduce":
        result = _region(arguments[1], write=True)
        clears = isinstance(arguments[4], tirx.IntImm) and int(arguments[4].value) == 1
        touches = [_region(arguments[0], write=False)]
        touches += [] if clears else [Touch(result.buffer, False, result.box)]
        touches.append(result)
        regions = 2
    else:
        touches, regions = [_region(arguments[0], write=False), _region(arguments[1], write=True)], 2
    for argument in arguments[:regions]:
        touches += _index_reads(argument)
    for argument in arguments[regions:]:
        touches += touches_of_expression(argument)
    return touches


def _index_reads(argument: Any) -> list[Touch]:
    """Buffers that a region's own indices read (``A[table[i], ...]``)."""
    parts = list(argument.args[2:]) if isinstance(argument, tirx.Call) else []
    load = argument.args[0] if isinstance(argument, tirx.Call) else argument
    parts += list(load.indices) if isinstance(load, tirx.BufferLoad) else []
    return [touch for part in parts for touch in touches_of_expression(part)]


def _region(argument: Any, *, write: bool) -> Touch:
    if isinstance(argument, tirx.Call) and str(getattr(argument.op, "name", "")) == "tl.region":
        load, extents = argument.args[0], tuple(argument.args[2:])
    else:
        load, extents = argument, None
    if not isinstance(load, tirx.BufferLoad):
        raise NotApplicable(
            "a tile operator on something that is not a buffer region", code="unsupported-region", place=str(load)
        )
    if extents is None:
        extents = tuple(tirx.IntImm("int32", 1) for _ in load.indices)
    box = Box(tuple(load.indices), extents)
    static = _is_static(box)
    return Touch(load.buffer, write, box if static else None, write and _covers(load.buffer, box), write and static)


def _is_static(box: Box) -> bool:
    """Whether the box is constant: one whose bounds read a buffer may mean another place at another time."""
    return not any(_has_load(part) for part in (*box.mins, *box.extents))


def _has_load(expression: Any) -> bool:
    return bool(expression is not None and _collect(expression, tirx.BufferLoad))


def _collect(node: Any, kind: Any) -> list[Any]:
    found: list[Any] = []
    tirx.stmt_functor.post_order_visit(node, lambda part: found.append(part) if isinstance(part, kind) else None)
    return found


def _covers(buffer: Any, box: Box) -> bool:
    analyzer = arith.Analyzer()
    zero = all(analyzer.can_prove_equal(low, 0) for low in box.mins)
    return zero and all(analyzer.can_prove_equal(e, s) for e, s in zip(box.extents, buffer.shape, strict=False))


def _plain(stmt: Any) -> list[Touch]:
    """Loads and stores of scalar code, with the loops inside the statement taken together."""
    touches: list[Touch] = []
    _scan(stmt, [], False, touches)
    return touches


def _scan(stmt: Any, loops: list[Any], conditional: bool, out: list[Touch]) -> None:
    if isinstance(stmt, tirx.SeqStmt):
        for part in stmt.seq:
            _scan(part, loops, conditional, out)
    elif isinstance(stmt, tirx.For):
        _loads([stmt.min, stmt.extent], loops, out)
        _scan(stmt.body, [*loops, stmt], conditional, out)
    elif isinstance(stmt, tirx.While):
        _loads([stmt.condition], loops, out)
        _scan(stmt.body, loops, True, out)
    elif isinstance(stmt, tirx.IfThenElse):
        _loads([stmt.condition], loops, out)
        _scan(stmt.then_case, loops, True, out)
        if stmt.else_case is not None:
            _scan(stmt.else_case, loops, True, out)
    elif isinstance(stmt, tirx.AttrStmt):
        _scan(stmt.body, loops, conditional, out)
    elif isinstance(stmt, tirx.BufferStore):
        _loads([stmt.value, *stmt.indices], loops, out)
        covers = not conditional and stmt.predicate is None and _store_covers(stmt, loops)
        out.append(Touch(stmt.buffer, True, _box(stmt.indices, loops), covers, covers))
    elif isinstance(stmt, (tirx.Bind, tirx.Evaluate)):
        _loads([stmt.value], loops, out)
    elif isinstance(stmt, (tirx.DeclBuffer, tirx.AllocBuffer)):
        return
    else:
        raise NotApplicable(
            f"a {type(stmt).__name__} statement", code="unsupported-statement", place=type(stmt).__name__
        )


def _loads(expressions: Iterable[Any], loops: list[Any], out: list[Touch]) -> None:
    for expression in expressions:
        for load in _collect(expression, tirx.BufferLoad):
            out.append(Touch(load.buffer, False, _box(load.indices, loops)))


def _store_covers(store: Any, loops: list[Any]) -> bool:
    """Every dimension is indexed by its own loop over the whole extent (or has one element)."""
    analyzer = arith.Analyzer()
    used: list[Any] = []
    for index, extent in zip(store.indices, store.buffer.shape, strict=True):
        if analyzer.can_prove_equal(extent, 1):
            continue
        loop = next((loop for loop in loops if index.same_as(loop.loop_var)), None)
        if loop is None or any(loop is other for other in used):
            return False
        if not (analyzer.can_prove_equal(loop.min, 0) and analyzer.can_prove_equal(loop.extent, extent)):
            return False
        used.append(loop)
    # Loops that no index uses repeat the store; that also covers, unless they may not run at all.
    return all((_constant(loop.extent) or 0) >= 1 for loop in loops)


def _box(indices: Iterable[Any], loops: list[Any]) -> Box | None:
    analyzer = arith.Analyzer()
    domains = {loop.loop_var: arith.IntervalSet(loop.min, loop.min + loop.extent - 1) for loop in loops}
    mins, extents = [], []
    for index in indices:
        if _has_load(index):
            return None
        interval = analyzer.int_set(index, domains) if domains else arith.IntervalSet(index, index)
        low, high = interval.min_value, interval.max_value
        if _is_infinite(low) or _is_infinite(high):
            return None
        mins.append(analyzer.simplify(low))
        extents.append(analyzer.simplify(high - low + 1))
    return Box(tuple(mins), tuple(extents))


def _is_infinite(expression: Any) -> bool:
    return expression.dtype == "handle" or bool(_find_names(expression, lambda name: name in ("pos_inf", "neg_inf")))


def _find_names(expression: Any, accept: Callable[[str], bool]) -> list[str]:
    return [str(var.name) for var in _collect(expression, tirx.Var) if accept(str(var.name))]


def _constant(value: Any) -> int | None:
    return int(value.value) if isinstance(value, tirx.IntImm) else (value if isinstance(value, int) else None)
