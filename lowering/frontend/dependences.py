"""Dependences between the items of a scope: RAW, WAR and WAW, inside one iteration and across the back edge.

Two accesses conflict unless their boxes are provably disjoint. A dependence is left out only if a certain overwrite of the
whole buffer is in between, because then two others imply it. Runs in child processes only: it reads TVM objects.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.accesses import Box, Touch, scalars_in
from warpwright.solver.domain import Dependence, Hazard

__all__ = ["Apart", "Item", "dependences_of", "summarise"]

tirx = tvm.tirx
arith = tvm.arith


@dataclass(slots=True)
class Item:
    """One entry of a scope as its neighbours see it.

    ``exposed`` are reads of values from before the item, ``sure`` writes that certainly happen to every element of their box.
    """

    id: str
    reads: list[Touch] = field(default_factory=list)
    exposed: list[Touch] = field(default_factory=list)
    writes: list[Touch] = field(default_factory=list)
    sure: list[Touch] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Apart:
    """How accesses are distinguished: the storage of a buffer, and which distinct storages may be the same memory."""

    name: Callable[[Any], str]
    alias: Callable[[str, str], bool]


def summarise(item_id: str, items: Iterable[Item], apart: Apart, *, loop: Any, inner: list[Any], certain: bool) -> Item:
    """A loop as one item. ``inner`` are the variables that get values inside; ``certain``: the body surely runs once."""
    result = Item(item_id)
    for item in items:
        result.reads += item.reads
        result.exposed += [
            touch for touch in item.exposed if not touch.of_own and not _overwritten(touch, result.sure, apart, None)
        ]
        result.writes += item.writes
        result.sure += item.sure
    for touches in (result.reads, result.exposed, result.writes):
        touches[:] = [_outside(touch, loop, inner) for touch in touches]
    # A box that moves with the loop is not certainly written as a whole; a constant one is, if the body runs at all.
    result.sure = [touch for touch in result.sure if certain and _stands_still(touch, loop, inner)]
    return result


def _stands_still(touch: Touch, loop: Any, inner: list[Any]) -> bool:
    moving = [*inner, loop.loop_var] if isinstance(loop, tirx.For) else inner
    return touch.box is not None and not any(_mentions(p, moving) for p in (*touch.box.mins, *touch.box.extents))


def _outside(touch: Touch, loop: Any, inner: list[Any]) -> Touch:
    """The touch over all iterations: the loop's variable runs over its range, any other inner variable makes the box unknown."""
    if touch.box is None or _stands_still(touch, loop, inner):
        return touch
    domain, mins, extents = {}, [], []
    if isinstance(loop, tirx.For):
        domain = {loop.loop_var: arith.IntervalSet(loop.min, loop.min + loop.extent - 1)}
    analyzer = arith.Analyzer()
    for low, extent in zip(touch.box.mins, touch.box.extents, strict=True):
        first, last = analyzer.int_set(low, domain), analyzer.int_set(low + extent - 1, domain)
        bounds = (first.min_value, last.max_value)
        if any(bound.dtype == "handle" or _mentions(bound, inner) for bound in bounds):
            return Touch(touch.buffer, touch.write, None)
        mins.append(analyzer.simplify(bounds[0]))
        extents.append(analyzer.simplify(bounds[1] - bounds[0] + 1))
    return Touch(touch.buffer, touch.write, Box(tuple(mins), tuple(extents)))


def dependences_of(
    scope_id: str, items: list[Item], apart: Apart, *, loop: Any | None, inner: list[Any]
) -> Iterator[Dependence]:
    """All dependences of one scope; ``loop`` is its loop, None for the root, which has no back edge."""
    for second, later in enumerate(items):
        for first in range(second):
            between: _Path = [(item, None) for item in items[first + 1 : second]]
            for hazard, name in _conflicts(items[first], later, between, apart, None):
                yield Dependence(items[first].id, later.id, hazard, name, scope_id, 0)
    if loop is None:
        return
    shift = _Shift(loop, inner)
    for first, source in enumerate(items):
        for second, target in enumerate(items):
            path: _Path = [(item, None) for item in items[first + 1 :]]
            path += [(item, shift) for item in items[:second]]
            for hazard, name in _conflicts(source, target, path, apart, shift):
                yield Dependence(source.id, target.id, hazard, name, scope_id, 1)


_Path = list[tuple[Item, "_Shift | None"]]
"""Items that run between two others; those of the next iteration with the shift that takes them there."""


def _conflicts(
    source: Item, target: Item, between: "_Path", apart: Apart, shift: "_Shift | None"
) -> Iterator[tuple[Hazard, str]]:
    sides = (
        (Hazard.RAW, source.writes, target.exposed),
        (Hazard.WAR, source.reads, target.writes),
        (Hazard.WAW, source.writes, target.writes),
    )
    for hazard, before, after in sides:
        found = set[str]()
        for a in before:
            name = apart.name(a.buffer)
            if name in found or any(_overwritten(a, item.sure, apart, moved) for item, moved in between):
                continue
            for b in after:
                other = apart.name(b.buffer)
                if (name == other or apart.alias(name, other)) and _overlap(a, b, shift):
                    found.add(name)
                    break
        yield from ((hazard, name) for name in sorted(found))


def _overwritten(touch: Touch, sure: list[Touch], apart: Apart, shift: "_Shift | None") -> bool:
    """Whether one of the certain writes, moved by ``shift``, provably reaches every element of the touch."""
    name = apart.name(touch.buffer)
    same = (write for write in sure if apart.name(write.buffer) == name)
    return any(write.covers or _contains(write, touch, shift) for write in same)


def _contains(outer: Touch, inner: Touch, shift: "_Shift | None") -> bool:
    if outer.box is None or inner.box is None or not outer.buffer.same_as(inner.buffer):
        return False
    analyzer = arith.Analyzer()
    low_outer, extent_outer = outer.box.mins, outer.box.extents
    if shift is not None:
        low_outer = tuple(shift(part, analyzer) for part in low_outer)
        extent_outer = tuple(shift(part, analyzer) for part in extent_outer)
    bounds = zip(low_outer, extent_outer, inner.box.mins, inner.box.extents, strict=True)
    return all(analyzer.can_prove(lo <= li) and analyzer.can_prove(li + ei <= lo + eo) for lo, eo, li, ei in bounds)


def _overlap(a: Touch, b: Touch, shift: "_Shift | None") -> bool:
    """Whether the two may touch the same element; ``shift`` moves the second to some later iteration."""
    if a.box is None or b.box is None or not a.buffer.same_as(b.buffer):
        return True
    analyzer = arith.Analyzer()
    for low_a, extent_a, low_b, extent_b in zip(a.box.mins, a.box.extents, b.box.mins, b.box.extents, strict=True):
        low, extent = (low_b, extent_b) if shift is None else (shift(low_b, analyzer), shift(extent_b, analyzer))
        if analyzer.can_prove(low_a + extent_a <= low) or analyzer.can_prove(low + extent <= low_a):
            return False
    return True


class _Shift:
    """Rewrites an expression to a later iteration: the loop's variable grows by one or more, inner scalars become unknown."""

    def __init__(self, loop: Any, inner: list[Any]) -> None:
        self._more = tirx.Var("iterations_later", "int32")
        self._map = {var: tirx.Var(f"{var.name}_later", var.dtype) for var in inner}
        if isinstance(loop, tirx.For):
            self._map[loop.loop_var] = loop.loop_var + 1 + self._more

    def __call__(self, expression: Any, analyzer: Any) -> Any:
        analyzer.bind(self._more, tvm.ir.Range.from_min_extent(0, 1 << 24), allow_override=True)
        return tirx.stmt_functor.substitute(expression, self._map)


def _mentions(expression: Any, variables: list[Any]) -> bool:
    return any(used.same_as(var) for used in scalars_in(expression) for var in variables)
