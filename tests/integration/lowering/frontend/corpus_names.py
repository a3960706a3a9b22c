"""Names of the corpus' kernels without importing TileLang: read from the sources in ``corpus/``."""

import ast
from pathlib import Path

SOURCES = sorted(Path(__file__).with_name("corpus").glob("*.py"))


def fitting() -> list[str]:
    """Kernels that a warp schedule can express."""
    tuples = [value for value in _assigned("FITTING") if isinstance(value, ast.Tuple)]
    return [element.id for value in tuples for element in value.elts if isinstance(element, ast.Name)]


def not_fitting() -> dict[str, str]:
    """Kernels that no schedule can express, each with the code of its refusal."""
    return _codes("NOT_FITTING")


def not_buildable() -> dict[str, str]:
    """Kernels that cannot be built as they are, each with the code of its refusal."""
    return _codes("NOT_BUILDABLE")


def _codes(table: str) -> dict[str, str]:
    pairs = [
        pair
        for value in _assigned(table)
        if isinstance(value, ast.Dict)
        for pair in zip(value.keys, value.values, strict=True)
    ]
    return {k.id: str(v.value) for k, v in pairs if isinstance(k, ast.Name) and isinstance(v, ast.Constant)}


EXAMPLES = [*(f"example_gemm_{i}" for i in range(12)), *(f"example_attention_{i}" for i in range(3))]


def _assigned(name: str) -> list[ast.expr]:
    """What each file assigns to a name; a file that does not has none of that kind."""
    nodes = [node for path in SOURCES for node in ast.parse(path.read_text()).body]
    named = [
        n for n in nodes if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.target.id == name
    ]
    return [node.value for node in named if node.value is not None]
