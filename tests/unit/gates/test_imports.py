"""Who may import what, checked on the source text: one namespace, compilers only in children, lowering only the domain."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("warpwright", "service", "tuning", "lowering", "solver")
ROOMS = ("service", "tuning", "lowering", "solver", "migrations")
"""Folders at the top of the checkout that are installed inside ``warpwright``."""
BESIDE = ("migrations", "tests", "benchmarks", "examples")
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


def test_service_tuning_and_solver_import_no_compiler() -> None:
    found = {
        str(path.relative_to(ROOT)): sorted(used)
        for path in modules("service", "tuning", "solver")
        if (used := {name.split(".")[0] for name in imports(path)} & COMPILERS)
    }
    assert found == {}


def foreign_solver_modules(path: Path) -> list[str]:
    named = {name for name in imports(path) if name.startswith("warpwright.solver.")}
    seen = ("warpwright.solver.domain", "warpwright.solver.device")
    return sorted(name for name in named if not name.startswith(seen))


def test_lowering_imports_nothing_of_the_solver_but_the_domain_and_the_device() -> None:
    found = {
        str(path.relative_to(ROOT)): names for path in modules("lowering") if (names := foreign_solver_modules(path))
    }
    assert found == {}


@pytest.mark.parametrize("path", modules(*PRODUCT, *BESIDE), ids=lambda path: str(path.relative_to(ROOT)))
def test_our_folders_are_imported_through_the_namespace(path: Path) -> None:
    """What is installed is ``warpwright`` alone: ``import solver`` works in a checkout only, or finds somebody else's."""
    assert sorted({name for name in imports(path) if name.split(".")[0] in ROOMS}) == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_folder_of_the_product_is_linked_into_the_namespace(room: str) -> None:
    link = ROOT / "warpwright" / room
    assert link.is_symlink()
    assert link.resolve() == ROOT / room


def test_the_contract_of_the_domain_names_everything_else() -> None:
    """The import linter forbids by name, so a new module or room must stand in the list."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    listed = next(c for c in contracts if c["name"] == "The domain imports nothing of ours")["forbidden_modules"]
    rooms = {"solver": ROOT / "solver", "": ROOT / "warpwright"}
    found = {
        ".".join(part for part in ("warpwright", room, path.stem) if part)
        for room, folder in rooms.items()
        for path in folder.iterdir()
        if (path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))) and path.stem != "__init__"
    }
    assert sorted(listed) == sorted(found - {"warpwright.solver", "warpwright.solver.domain"})


def test_the_domain_imports_only_itself() -> None:
    """Function bodies included, which a linter may be told to look past."""
    named = {name for path in modules("solver/domain") for name in imports(path) if name.startswith("warpwright")}
    assert sorted(name for name in named if not name.startswith("warpwright.solver.domain")) == []


def test_nothing_is_called_utils_helpers_or_common() -> None:
    forbidden = {"utils", "util", "helpers", "helper", "common", "misc"}
    ours = modules(*PRODUCT, "tests", "benchmarks")
    found = [str(path.relative_to(ROOT)) for path in ours if {path.stem, path.parent.name} & forbidden]
    assert found == []
