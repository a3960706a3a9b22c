"""How often each statement runs in one launch, by executing the kernel's control flow block by block.

Loops with constant bounds and no conditions are multiplied out; guards, persistent loops and tile schedulers are evaluated
for every block. Values that depend on memory contents end the count: then nothing is known. Runs in child processes only.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.statements import Guard, Leaf, Loop, Node
from warpwright.lowering.frontend.walk import WalkedKernel

__all__ = ["count_runs"]

tirx = tvm.tirx

STEP_LIMIT = 200_000
"""Evaluated statements before giving up: a tenth of a second; a kernel of one wave of 132 blocks needs a thousand."""

Values = dict[Any, int]
Value = Callable[[Values], int]


class _UnknownError(Exception):
    """The count depends on data, or is too long."""


def count_runs(kernel: WalkedKernel) -> dict[str, int] | None:
    """Statement id -> executions in one launch, over all blocks; None if it depends on data or on symbolic sizes."""
    extents = [int(extent.value) if isinstance(extent, tirx.IntImm) else None for extent in kernel.grid]
    if None in extents:
        return None
    counter = _Counter()
    try:
        if counter.is_static(kernel.body):
            blocks = 1
            for extent in extents:
                blocks *= extent or 0
            counter.add(kernel.body, blocks)
            return counter.counts
        for block in product(*(range(extent or 0) for extent in extents)):
            counter.run(kernel.body, dict(zip(map(_key, kernel.block_vars), block, strict=True)))
    except _UnknownError:
        return None
    return counter.counts


class _Counter:
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._steps = 0
        self._compiled: dict[int, Value] = {}
        self._static: dict[int, bool] = {}

    def is_static(self, nodes: list[Node]) -> bool:
        """No condition, and every loop has a constant extent: all runs are one product."""
        return all(self._is_static_node(node) for node in nodes)

    def _is_static_node(self, node: Node) -> bool:
        key = id(node)
        if key not in self._static:
            if isinstance(node, Leaf):
                self._static[key] = True
            elif isinstance(node, Guard):
                self._static[key] = False
            else:
                counted = not isinstance(node, Loop) or _constant_extent(node) is not None
                self._static[key] = counted and self.is_static(node.body)
        return self._static[key]

    def add(self, nodes: list[Node], times: int) -> None:
        """Count static nodes that run ``times`` times."""
        for node in nodes:
            if isinstance(node, Leaf):
                self.counts[node.id] = self.counts.get(node.id, 0) + times
            else:
                extent = _constant_extent(node) if isinstance(node, Loop) else 1
                self.add(node.body, times * (extent or 0))

    def run(self, nodes: list[Node], values: Values) -> None:
        """Execute the nodes once with the given values of variables and thread-private scalars."""
        for node in nodes:
            self._steps += 1
            if self._steps > STEP_LIMIT:
                raise _UnknownError
            if isinstance(node, Leaf):
                self.counts[node.id] = self.counts.get(node.id, 0) + 1
                self._leaf(node.stmt, values)
            elif isinstance(node, Guard):
                if self._value(node.stmt.condition)(values):
                    self.run(node.body, values)
            elif isinstance(node, Loop):
                self._loop(node, values)
            else:
                self.run(node.body, values)

    def _leaf(self, stmt: Any, values: Values) -> None:
        """Scalars that control flow may read; one with an unknown value is dropped, and missed only if it is read."""
        if isinstance(stmt, tirx.Bind):
            target = stmt.var
        elif isinstance(stmt, tirx.BufferStore) and str(stmt.buffer.scope()) == "local.var":
            target = stmt.buffer.data
        else:
            return
        try:
            values[_key(target)] = self._value(stmt.value)(values)
        except _UnknownError:
            values.pop(_key(target), None)

    def _loop(self, loop: Loop, values: Values) -> None:
        stmt = loop.stmt
        if isinstance(stmt, tirx.While):
            condition = self._value(stmt.condition)
            while condition(values):
                self.run(loop.body, values)
            return
        extent = self._value(stmt.extent)(values)
        # Statements in a static body may still set scalars that a later condition reads; such bodies hold no tile loops.
        if self.is_static(loop.body) and not _sets_scalars(loop.body):
            self.add(loop.body, max(extent, 0))
            return
        first = self._value(stmt.min)(values)
        for index in range(first, first + extent):
            values[_key(stmt.loop_var)] = index
            self.run(loop.body, values)

    def _value(self, expression: Any) -> Value:
        key = expression.__hash__()
        if key not in self._compiled:
            self._compiled[key] = _compile(expression)
        return self._compiled[key]


def _constant_extent(loop: Loop) -> int | None:
    stmt = loop.stmt
    return int(stmt.extent.value) if isinstance(stmt, tirx.For) and isinstance(stmt.extent, tirx.IntImm) else None


def _sets_scalars(nodes: list[Node]) -> bool:
    for node in nodes:
        if isinstance(node, Leaf):
            if isinstance(node.stmt, tirx.BufferStore) and str(node.stmt.buffer.scope()) == "local.var":
                return True
        elif _sets_scalars(node.body):
            return True
    return False


_BINARY: dict[Any, Callable[[int, int], int]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.FloorDiv: lambda a, b: a // b if b else _unknown(),
    tirx.FloorMod: lambda a, b: a % b if b else _unknown(),
    tirx.Min: min,
    tirx.Max: max,
    tirx.LT: lambda a, b: int(a < b),
    tirx.LE: lambda a, b: int(a <= b),
    tirx.GT: lambda a, b: int(a > b),
    tirx.GE: lambda a, b: int(a >= b),
    tirx.EQ: lambda a, b: int(a == b),
    tirx.NE: lambda a, b: int(a != b),
    tirx.And: lambda a, b: int(bool(a) and bool(b)),
    tirx.Or: lambda a, b: int(bool(a) or bool(b)),
}


def _compile(node: Any) -> Value:
    """An integer expression as a function of the values; anything else becomes unknown when it is evaluated."""
    if isinstance(node, tirx.IntImm):
        constant = int(node.value)
        return lambda values: constant
    if isinstance(node, tirx.Var):
        return _lookup(_key(node))
    if isinstance(node, tirx.BufferLoad) and str(node.buffer.scope()) == "local.var":
        return _lookup(_key(node.buffer.data))
    if type(node) in _BINARY:
        operation, left, right = _BINARY[type(node)], _compile(node.a), _compile(node.b)
        return lambda values: operation(left(values), right(values))
    if isinstance(node, tirx.Not):
        inner = _compile(node.a)
        return lambda values: int(not inner(values))
    if isinstance(node, tirx.Cast) and "int" in str(node.dtype):
        return _compile(node.value)
    name = str(getattr(getattr(node, "op", None), "name", ""))
    if isinstance(node, tirx.Select) or name == "tirx.if_then_else":
        parts = list(node.args) if name else [node.condition, node.true_value, node.false_value]
        condition, yes, no = (_compile(part) for part in parts)
        return lambda values: yes(values) if condition(values) else no(values)
    if name == "tirx.likely":
        return _compile(node.args[0])
    return lambda values: _unknown()


def _lookup(key: Any) -> Value:
    def value(values: Values) -> int:
        return values[key] if key in values else _unknown()

    return value


def _unknown() -> int:
    raise _UnknownError


def _key(var: Any) -> int:
    """Variables are equal when they are one object; their hash is the object's address, which the kernel keeps alive."""
    return int(var.__hash__())
