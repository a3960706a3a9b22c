"""Names of the corpus' kernels without importing TileLang: read from the source of ``corpus.py``."""

import ast
from pathlib import Path

SOURCE = Path(__file__).with_name("corpus.py")


def fitting() -> list[str]:
    """Kernels that a warp schedule can express."""
    value = _assigned("FITTING")
    assert isinstance(value, ast.Tuple)
    return [element.id for element in value.elts if isinstance(element, ast.Name)]


def not_fitting() -> dict[str, str]:
    """Kernels that no schedule can express, each with the code of its refusal."""
    value = _assigned("NOT_FITTING")
    assert isinstance(value, ast.Dict)
    pairs = zip(value.keys, value.values, strict=True)
    return {k.id: str(v.value) for k, v in pairs if isinstance(k, ast.Name) and isinstance(v, ast.Constant)}


EXAMPLES = [*(f"example_gemm_{i}" for i in range(7)), *(f"example_attention_{i}" for i in range(3))]


def _assigned(name: str) -> ast.expr:
    for node in ast.parse(SOURCE.read_text()).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            assert node.value is not None
            return node.value
    raise LookupError(name)
