"""Dependences between the items of a scope: RAW, WAR and WAW, inside one iteration and across the back edge.

Two accesses conflict unless their boxes are provably apart. A dependence is left out only where a certain overwrite of the
whole buffer stands between, because then two others imply it. Runs in child processes only: it reads TVM objects.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tilelang import tvm

from lowering.frontend.accesses import Box, Touch, scalars_in
from solver.domain import Dependence, Hazard

__all__ = ["Item", "dependences_of", "summarise"]

tirx = tvm.tirx
arith = tvm.arith


@dataclass(slots=True)
class Item:
    """One entry of a scope as its neighbours see it. ``exposed`` are reads of values from before the item."""

    id: str
    reads: list[Touch] = field(default_factory=list)
    exposed: list[Touch] = field(default_factory=list)
    writes: list[Touch] = field(default_factory=list)
    kills: frozenset[str] = frozenset()
    """Storages that the item certainly overwrites as a whole."""


Storage = Callable[[Any], str]


def summarise(
    item_id: str, items: Iterable[Item], storage: Storage, *, loop: Any, inner: list[Any], certain: bool
) -> Item:
    """A loop as one item. ``inner`` are the scalars bound inside; ``certain``: the body surely runs at least once."""
    result, killed = Item(item_id), set[str]()
    for item in items:
        result.reads += item.reads
        result.exposed += [touch for touch in item.exposed if storage(touch.buffer) not in killed]
        result.writes += item.writes
        killed |= item.kills
    result.kills = frozenset(killed) if certain else frozenset()
    for touches in (result.reads, result.exposed, result.writes):
        touches[:] = [_outside(touch, loop, inner) for touch in touches]
    return result


def _outside(touch: Touch, loop: Any, inner: list[Any]) -> Touch:
    """The touch over all iterations: the loop's variable runs over its range, what else is inner makes the box unknown."""
    if touch.box is None:
        return touch
    domain, mins, extents = {}, [], []
    if isinstance(loop, tirx.For):
        domain = {loop.loop_var: arith.IntervalSet(loop.min, loop.min + loop.extent - 1)}
    analyzer = arith.Analyzer()
    for low, extent in zip(touch.box.mins, touch.box.extents, strict=True):
        first, last = analyzer.int_set(low, domain), analyzer.int_set(low + extent - 1, domain)
        bounds = (first.min_value, last.max_value)
        if any(_mentions(bound, inner) or bound.dtype == "handle" for bound in bounds):
            return Touch(touch.buffer, touch.write, None, False)
        mins.append(analyzer.simplify(bounds[0]))
        extents.append(analyzer.simplify(bounds[1] - bounds[0] + 1))
    return Touch(touch.buffer, touch.write, Box(tuple(mins), tuple(extents)), touch.covers)


def dependences_of(
    scope_id: str,
    items: list[Item],
    storage: Storage,
    *,
    loop: Any | None,
    inner: list[Any],
    alias: Callable[[str, str], bool],
) -> Iterator[Dependence]:
    """All dependences of one scope; ``loop`` is its loop, None for the root, which has no back edge."""
    here: set[tuple[int, int, Hazard, str]] = set()
    for second, later in enumerate(items):
        for first in range(second):
            between = items[first + 1 : second]
            for hazard, name in _conflicts(items[first], later, between, storage, alias, None):
                here.add((first, second, hazard, name))
                yield Dependence(items[first].id, later.id, hazard, name, scope_id, 0)
    if loop is None:
        return
    shift = _Shift(loop, inner)
    for first, source in enumerate(items):
        for second, target in enumerate(items):
            between = items[first + 1 :] + items[:second]
            for hazard, name in _conflicts(source, target, between, storage, alias, shift):
                if (first, second, hazard, name) not in here:
                    yield Dependence(source.id, target.id, hazard, name, scope_id, 1)


def _conflicts(
    source: Item,
    target: Item,
    between: list[Item],
    storage: Storage,
    alias: Callable[[str, str], bool],
    shift: "_Shift | None",
) -> Iterator[tuple[Hazard, str]]:
    killed = frozenset[str]().union(*(item.kills for item in between))
    sides = (
        (Hazard.RAW, source.writes, target.exposed),
        (Hazard.WAR, source.reads, target.writes),
        (Hazard.WAW, source.writes, target.writes),
    )
    for hazard, before, after in sides:
        found = set[str]()
        for a in before:
            for b in after:
                name, other = storage(a.buffer), storage(b.buffer)
                if name in found or name in killed or not (name == other or alias(name, other)):
                    continue
                if _overlap(a, b, shift):
                    found.add(name)
        yield from ((hazard, name) for name in sorted(found))


def _overlap(a: Touch, b: Touch, shift: "_Shift | None") -> bool:
    """Whether the two may touch the same element; ``shift`` moves the second to some later iteration."""
    if a.box is None or b.box is None or not a.buffer.same_as(b.buffer):
        return True
    analyzer = arith.Analyzer()
    for low_a, extent_a, low_b, extent_b in zip(a.box.mins, a.box.extents, b.box.mins, b.box.extents, strict=True):
        low_second, extent_second = (
            (low_b, extent_b) if shift is None else (shift(low_b, analyzer), shift(extent_b, analyzer))
        )
        if analyzer.can_prove(low_a + extent_a <= low_second) or analyzer.can_prove(
            low_second + extent_second <= low_a
        ):
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
