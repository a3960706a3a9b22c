"""Who may import what, checked on the source text: compilers only in children, lowering only the domain."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("warpwright", "service", "lowering", "solver")
COMPILERS = {"tilelang", "tvm", "torch", "torch_npu", "tvm_ffi"}


def imports(path: Path) -> Iterator[str]:
    """Every module that a file names in an import, function bodies included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", modules(*PRODUCT), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_that_imports_a_compiler_says_that_it_runs_in_a_child(path: Path) -> None:
    used = {name.split(".")[0] for name in imports(path)} & COMPILERS
    if used:
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert "child" in docstring.lower(), f"{path.name} imports {sorted(used)}"


def test_the_service_and_the_solver_import_no_compiler() -> None:
    found = {
        str(path.relative_to(ROOT)): sorted(used)
        for path in modules("service", "solver")
        if (used := {name.split(".")[0] for name in imports(path)} & COMPILERS)
    }
    assert found == {}


def foreign_solver_modules(path: Path) -> list[str]:
    named = {name for name in imports(path) if name.split(".")[0] == "solver" and name != "solver"}
    return sorted(name for name in named if not name.startswith("warpwright.solver.domain"))


def test_lowering_imports_nothing_of_the_solver_but_the_domain() -> None:
    found = {
        str(path.relative_to(ROOT)): names for path in modules("lowering") if (names := foreign_solver_modules(path))
    }
    assert found == {}


def test_nothing_is_called_utils_helpers_or_common() -> None:
    forbidden = {"utils", "util", "helpers", "helper", "common", "misc"}
    ours = modules(*PRODUCT, "tests", "benchmarks")
    found = [str(path.relative_to(ROOT)) for path in ours if {path.stem, path.parent.name} & forbidden]
    assert found == []
