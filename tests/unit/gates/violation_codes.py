"""Every code that product code gives to ``Violation(family, rule, ...)``, and every one that a test asserts, off the source.

An argument may be a literal, a constant of the module (``NAME``), or a parameter of the function around it: then the function's
calls in that module are looked at. What is none of these cannot be known, and is told as such.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Given", "asserted_texts", "given_codes"]

ROOT = Path(__file__).resolve().parents[3]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, order=True)
class Given:
    """One code with the place that gives it; a part is ``?`` where the source does not say."""

    family: str
    rule: str
    place: str

    def __str__(self) -> str:
        return f"{self.family}/{self.rule} ({self.place})"


def given_codes(folder: Path, *, without: str = "testing") -> Iterator[Given]:
    """Codes of every ``Violation(`` below a folder, the packages of fakes left out."""
    for path in sorted(folder.rglob("*.py")):
        if without not in path.relative_to(folder).parts:
            yield from _Module(path).given()


class _Module:
    """One source file with its constants, and the functions around each node."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = ast.parse(path.read_text("utf-8"))
        self.constants = {
            target.id: node.value.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.around: dict[ast.AST, list[Function]] = {}
        self._nest(self.tree, [])

    def _nest(self, node: ast.AST, functions: list[Function]) -> None:
        self.around[node] = functions
        inner = [*functions, node] if isinstance(node, Function) else functions
        for child in ast.iter_child_nodes(node):
            self._nest(child, inner)

    def given(self) -> Iterator[Given]:
        for call in self._calls("Violation"):
            where = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
            for pair in self._pairs(call, ("family", "rule"), (0, 1), frozenset()):
                yield Given(*pair, f"{where}:{call.lineno}")

    def _calls(self, name: str) -> Iterator[ast.Call]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield node

    def _pairs(
        self, call: ast.Call, names: tuple[str, str], places: tuple[int, int], seen: frozenset[str]
    ) -> Iterator[tuple[str, str]]:
        """Family and rule of a call: what can be read at once, or what the calls of the function around it give."""
        family, rule = (_argument(call, name, place) for name, place in zip(names, places, strict=True))
        families, rules = self._values(family), self._values(rule)
        passed = [self._parameter(call, value) for value in (family, rule)]
        function = next((found[0] for found in passed if found is not None), None)
        if function is None or function.name in seen:
            yield from ((one, other) for one in families or ["?"] for other in rules or ["?"])
            return
        for outer in self._calls(function.name):
            for known, other in self._through(outer, function, (family, rule), seen | {function.name}):
                yield from ((one, two) for one in families or [known] for two in rules or [other])

    def _through(
        self, outer: ast.Call, function: Function, wanted: tuple[ast.expr | None, ast.expr | None], seen: frozenset[str]
    ) -> Iterator[tuple[str, str]]:
        order = [argument.arg for argument in function.args.args]
        names = tuple(value.id if isinstance(value, ast.Name) else "" for value in wanted)
        places = tuple(order.index(name) if name in order else len(order) for name in names)
        yield from self._pairs(outer, (names[0], names[1]), (places[0], places[1]), seen)

    def _values(self, value: ast.expr | None) -> list[str]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return [value.value]
        if isinstance(value, ast.Name) and value.id in self.constants:
            return [self.constants[value.id]]
        if isinstance(value, ast.IfExp):
            return [*self._values(value.body), *self._values(value.orelse)]
        return []

    def _parameter(self, call: ast.Call, value: ast.expr | None) -> tuple[Function, str] | None:
        """The function around the call that has this name as its parameter."""
        if not isinstance(value, ast.Name):
            return None
        for function in reversed(self.around[call]):
            if value.id in {argument.arg for argument in function.args.args}:
                return function, value.id
        return None


def _argument(call: ast.Call, name: str, place: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if place < len(call.args) else None


def asserted_texts(folder: Path) -> set[str]:
    """Texts that a test compares with something: in an ``assert``, or in the table of a parametrised test."""
    found: set[str] = set()
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Assert):
                found |= _texts(node.test)
            elif isinstance(node, Function):
                found |= {text for decorator in node.decorator_list for text in _texts(decorator)}
    return found


def _texts(node: ast.AST) -> set[str]:
    return {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)}
