"""Simulates the event flags of generated Ascend C: every wait needs a set before it, and no flag may be left over.

A kernel whose first wait has no set hangs (bug case 19 of the field). The control flow of the generated text is plain: counted
loops, conditions on loop variables, ``asc_sync_notify`` and ``asc_sync_wait`` with a flag id. It is walked one statement at a
time, one core section after the other; flags are counters, because a pipe consumes its sets in order. Plain Python.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["flag_faults"]

STEPS = 200_000
"""The most statements that are simulated; a longer program is not judged."""

_FOR = re.compile(r"for \(int(?:32|64)_t (\w+) = (\d+); \1 < (\d+); \+\+\1\) \{")
_IF = re.compile(r"if \((.*)\) \{$")
_FLAG = re.compile(r"asc_sync_(notify|wait)\((PIPE_\w+), (PIPE_\w+), static_cast<event_t>\((.*)\)\);")
_OPERATORS = {"&&": " and ", "||": " or "}


class _Unreadable(Exception):  # the text is not judged; not an error of the caller
    """A construct that this simulation does not know."""


@dataclass(slots=True)
class _Block:
    """A statement list: strings are flag statements, tuples are loops and conditions with their bodies."""

    items: list["_Item"] = field(default_factory=list)


@dataclass(slots=True)
class _Item:
    kind: str
    head: tuple[str, ...]
    body: _Block | None = None


def flag_faults(source: str) -> tuple[str, ...] | None:
    """Errors of the flags in a kernel's source; None if the text has unknown constructs."""
    try:
        faults: list[str] = []
        for section in _sections(source):
            faults += _play(section)
        return tuple(faults)
    except _Unreadable:
        return None


def _sections(source: str) -> Iterator[_Block]:
    """The bodies of ``if ASC_IS_AIC`` and ``if ASC_IS_AIV``; the whole kernel if it has neither."""
    lines = [line.strip() for line in source.splitlines()]
    starts = [i for i, line in enumerate(lines) if line.startswith("if ASC_IS_AI")]
    if not starts:
        starts = [i for i, line in enumerate(lines) if "__global__" in line and line.endswith("{")]
    for start in starts:
        block, _ = _parse(lines, start + 1)
        yield block


def _parse(lines: list[str], position: int) -> tuple[_Block, int]:
    block = _Block()
    while position < len(lines):
        line = lines[position]
        position += 1
        if line == "}":
            return block, position
        if flag := _FLAG.match(line):
            block.items.append(_Item(flag.group(1), (f"{flag.group(2)} to {flag.group(3)}", flag.group(4))))
        elif loop := _FOR.match(line):
            body, position = _parse(lines, position)
            block.items.append(_Item("for", loop.groups(), body))
        elif condition := _IF.match(line):
            body, position = _parse(lines, position)
            block.items.append(_Item("if", (condition.group(1),), body))
        elif line.endswith("{"):
            body, position = _parse(lines, position)
            if body.items:
                raise _Unreadable(line)
        elif line.startswith("}"):
            raise _Unreadable(line)
    return block, position


def _play(block: _Block) -> list[str]:
    counts: dict[tuple[str, int], int] = {}
    faults: dict[str, None] = {}
    steps = 0

    def run(part: _Block, values: dict[str, int]) -> None:
        nonlocal steps
        for item in part.items:
            steps += 1
            if steps > STEPS:
                raise _Unreadable("too long")
            if item.kind == "for":
                variable, low, high = item.head
                assert item.body is not None
                for value in range(int(low), int(high)):
                    run(item.body, {**values, variable: value})
            elif item.kind == "if":
                assert item.body is not None
                if item.body.items and _value(item.head[0], values):
                    run(item.body, values)
            else:
                flag = (item.head[0], _value(item.head[1], values))
                counts[flag] = counts.get(flag, 0) + (1 if item.kind == "notify" else -1)
                if counts[flag] < 0:
                    faults[f"{flag[0]}, flag {flag[1]}: a wait has no set before it"] = None
                    counts[flag] = 0

    run(block, {})
    left = [
        f"{name}, flag {number}: {count} set but never waited for" for (name, number), count in counts.items() if count
    ]
    return [*faults, *left]


def _value(text: str, values: Mapping[str, int]) -> int:
    """A C expression over loop variables, as Python reads it."""
    for c, python in _OPERATORS.items():
        text = text.replace(c, python)
    text = re.sub(r"\((?:int|uint)(?:16|32|64)_t\)|\(bool\)", "", text)
    try:
        return int(_evaluate(ast.parse(text.strip(), mode="eval").body, values))
    except (SyntaxError, ZeroDivisionError) as error:
        raise _Unreadable(text) from error


def _evaluate(node: ast.expr, values: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=bool() | int() as value):
            return int(value)
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.BoolOp(op=ast.And(), values=parts):
            return int(all(_evaluate(part, values) for part in parts))
        case ast.BoolOp(values=parts):
            return int(any(_evaluate(part, values) for part in parts))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return int(_COMPARISONS[type(op)](_evaluate(left, values), _evaluate(right, values)))
    raise _Unreadable(ast.dump(node))


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.RShift: operator.rshift,
    ast.LShift: operator.lshift,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
