"""Which threads of a block reach a place in generated CUDA source: the branches on ``threadIdx.x`` around it.

Only whole comparisons with a number narrow a range (``((int)threadIdx.x) < 128``, as TileLang 0.1.15 prints role branches); any
other condition leaves it as it is, so that a range never lacks a thread.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Range", "scopes_of"]

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|[{};]', re.DOTALL)
_IF = re.compile(r"(?:^|\s|\))if\s*\((.*)\)\s*$", re.DOTALL)
_LESS = re.compile(r"threadIdx\.x<(\d+)")
_FROM = re.compile(r"(\d+)<=threadIdx\.x|threadIdx\.x>=(\d+)")


@dataclass(frozen=True, slots=True)
class Range:
    """Threads ``first`` to ``end`` - 1."""

    first: int
    end: int

    def within(self, other: "Range") -> "Range":
        """The threads of both."""
        first = max(self.first, other.first)
        return Range(first, max(first, min(self.end, other.end)))


@dataclass(frozen=True, slots=True)
class _Branch:
    """A scope, and the threads for which its condition does not hold: those of the scope around it, where that is not known."""

    threads: Range
    others: Range


def scopes_of(source: str, threads: int) -> Iterator[tuple[int, int, Range]]:
    """Start, end and threads of every piece of text between braces and semicolons, in order."""
    around, others = [_Branch(Range(0, threads), Range(0, threads))], Range(0, threads)
    start = 0
    for token in _TOKEN.finditer(source):
        text = token.group()
        if text not in ("{", "}", ";"):
            continue
        yield start, token.start(), around[-1].threads
        header, start = source[start : token.start()], token.end()
        if text == "{":
            around.append(_opened(header, around[-1].threads, others))
            others = around[-1].threads
        elif text == "}" and len(around) > 1:
            others = around.pop().others
    yield start, len(source), around[-1].threads


def _opened(header: str, parent: Range, others: Range) -> _Branch:
    """The scope that a header opens; ``others`` are the threads that the ``if`` before it left out."""
    if re.search(r"\belse\b", header):
        parent = others
    found = _IF.search(header)
    if found is None:
        return _Branch(parent, parent)
    parts = [re.sub(r"\(int\)|[()\s]", "", part) for part in found.group(1).split("&&")]
    inside = parent
    for part in parts:
        inside = _compared(part, inside)[0]
    return _Branch(inside, _compared(parts[0], parent)[1] if len(parts) == 1 else parent)


def _compared(condition: str, parent: Range) -> tuple[Range, Range]:
    """The threads for which a comparison holds, and those for which it does not; all of them where it is not a known one."""
    if found := _LESS.fullmatch(condition):
        bound = int(found.group(1))
        return parent.within(Range(0, bound)), parent.within(Range(bound, parent.end))
    if found := _FROM.fullmatch(condition):
        bound = int(found.group(1) or found.group(2))
        return parent.within(Range(bound, parent.end)), parent.within(Range(0, bound))
    return parent, parent
