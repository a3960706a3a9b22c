"""Expressions of the IR as TileLang Python text. Runs in child processes only: it reads TVM objects."""

import math
from collections.abc import Callable
from typing import Any

from tilelang import tvm

from warpwright.solver.domain import NotApplicable

__all__ = ["ExpressionWriter"]

tirx = tvm.tirx

_ATOM = 100
_BINARY: dict[Any, tuple[str, int]] = {
    tirx.Add: ("+", 60),
    tirx.Sub: ("-", 60),
    tirx.Mul: ("*", 70),
    tirx.Div: ("/", 70),
    tirx.FloorDiv: ("//", 70),
    tirx.FloorMod: ("%", 70),
    tirx.LT: ("<", 40),
    tirx.LE: ("<=", 40),
    tirx.GT: (">", 40),
    tirx.GE: (">=", 40),
    tirx.EQ: ("==", 40),
    tirx.NE: ("!=", 40),
}
_FUNCTIONS: dict[Any, str] = {
    tirx.Min: "T.min",
    tirx.Max: "T.max",
    tirx.And: "T.And",
    tirx.Or: "T.Or",
    tirx.Mod: "T.truncmod",
}
_DTYPE_CALLS = frozenset({"tl.infinity", "tirx.reinterpret"})
"""Operators whose Python function takes the result's dtype."""


class ExpressionWriter:
    """Writes expressions; ``name`` gives the Python name of a variable or buffer."""

    def __init__(self, name: Callable[[Any], str]) -> None:
        self._name = name

    def text(self, expression: Any) -> str:
        """The expression as Python text; NotApplicable ``source-not-writable`` if it cannot be written in TileLang."""
        return self._write(expression)[0]

    def factor(self, expression: Any, binding: int) -> str:
        """As :meth:`text`, in parentheses if a surrounding operator of strength ``binding`` needs them."""
        text, strength = self._write(expression)
        return text if strength >= binding else f"({text})"

    def element(self, load: Any) -> str:
        """``buffer[i, j]`` of a load or a store; a ``T.alloc_var`` is written as its single element."""
        if str(load.buffer.scope()) == "local.var":
            return self._name(load.buffer)
        indices = ", ".join(self.text(index) for index in load.indices)
        return f"{self._name(load.buffer)}[{indices}]"

    def _write(self, node: Any) -> tuple[str, int]:
        kind = type(node)
        if isinstance(node, tirx.IntImm):
            return _integer(node)
        if isinstance(node, tirx.FloatImm):
            return _float(node), _ATOM
        if isinstance(node, tirx.StringImm):
            return f'"{node.value}"', _ATOM
        if isinstance(node, tirx.Var):
            return self._name(node), _ATOM
        if isinstance(node, tirx.BufferLoad):
            return self.element(node), _ATOM
        if kind in _BINARY:
            return self._binary(node)
        if kind in _FUNCTIONS:
            return f"{_FUNCTIONS[kind]}({self.text(node.a)}, {self.text(node.b)})", _ATOM
        if isinstance(node, tirx.Not):
            return f"T.Not({self.text(node.a)})", _ATOM
        if isinstance(node, tirx.Cast):
            return f'T.cast({self.text(node.value)}, "{node.dtype}")', _ATOM
        if isinstance(node, tirx.Select):
            parts = (node.condition, node.true_value, node.false_value)
            return f"T.Select({', '.join(self.text(part) for part in parts)})", _ATOM
        if isinstance(node, tirx.Call):
            return self._call(node), _ATOM
        raise NotApplicable(
            f"{kind.__name__} cannot be written in TileLang", code="source-not-writable", place=str(node)[:160]
        )

    def _binary(self, node: Any) -> tuple[str, int]:
        symbol, strength = _BINARY[type(node)]
        if isinstance(node, tirx.Div) and "float" not in str(node.dtype):
            return f"T.truncdiv({self.text(node.a)}, {self.text(node.b)})", _ATOM
        return f"{self.factor(node.a, strength)} {symbol} {self.factor(node.b, strength + 1)}", strength

    def _call(self, call: Any) -> str:
        name = str(call.op.name)
        arguments = [self.text(argument) for argument in call.args]
        if name == "tl.infinity":
            return f"T.infinity({arguments[0]})"
        if name == "tirx.reinterpret":
            return f'T.reinterpret({arguments[0]}, "{call.dtype}")'
        return f"T.{name.split('.', 1)[1]}({', '.join(arguments)})"


def _integer(node: Any) -> tuple[str, int]:
    value, dtype = int(node.value), str(node.dtype)
    if dtype == "bool":
        return f"T.bool({bool(value)})", _ATOM
    if dtype == "int32":
        return str(value), _ATOM if value >= 0 else 65
    return f"T.{dtype}({value})", _ATOM


def _float(node: Any) -> str:
    value = float(node.value)
    text = repr(value) if math.isfinite(value) else f'float("{value}")'
    return f"T.{node.dtype}({text})"
