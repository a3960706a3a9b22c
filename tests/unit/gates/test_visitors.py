"""No function that TVM calls back raises: on its way through C++ an error loses its type, and with it its stable code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

LOWERING = Path(__file__).resolve().parents[3] / "lowering"
VISITORS = {"post_order_visit", "pre_order_visit", "ir_transform"}


def raising_callbacks(tree: ast.Module) -> Iterator[str]:
    """Names of functions that are handed to a TVM visitor and hold a ``raise``."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VISITORS:
            for argument in node.args:
                name = argument.id if isinstance(argument, ast.Name) else getattr(argument, "attr", "")
                body = functions.get(name)
                if body is not None and any(isinstance(inner, ast.Raise) for inner in ast.walk(body)):
                    yield name


@pytest.mark.parametrize("path", sorted(LOWERING.rglob("*.py")), ids=lambda path: str(path.relative_to(LOWERING)))
def test_no_callback_raises(path: Path) -> None:
    assert not list(raising_callbacks(ast.parse(path.read_text())))


def test_a_callback_that_raises_is_found() -> None:
    source = "def f(body):\n    def visit(node):\n        raise ValueError\n    tirx.post_order_visit(body, visit)\n"
    assert list(raising_callbacks(ast.parse(source))) == ["visit"]
