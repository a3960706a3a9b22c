"""What cannot be built is refused when a kernel is read: the build has no list of its own that could differ."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]
LAUNCH = ROOT / "lowering" / "frontend" / "launch.py"
CAUGHT = {"source-not-writable"}
"""Refusals that cost a candidate its readable source and not its build (``lowering/materialize/tasks.py``)."""


def refusals(path: Path) -> list[tuple[str, str]]:
    """Class and code of every refusal of a kernel that a module raises; the code as it is written."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return [
        (call.func.id, ast.unparse(word.value).strip("'"))
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in ("NotApplicable", "NotBuildable")
        for word in call.keywords
        if word.arg == "code"
    ]


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / "lowering" / folder).glob("*.py"))


def test_neither_the_build_nor_the_materialiser_refuses_a_kernel_of_its_own() -> None:
    raised = {path.name: refusals(path) for path in (*modules("compile"), *modules("materialize"))}
    assert {code for found in raised.values() for _, code in found} == CAUGHT, raised
    assert not [name for name in raised for kind, _ in raised[name] if kind == "NotBuildable"]


def test_the_only_list_of_what_cannot_be_built_is_that_of_reading() -> None:
    raised = {path.name: refusals(path) for path in modules("frontend")}
    assert {name for name, found in raised.items() for kind, _ in found if kind == "NotBuildable"} == {LAUNCH.name}
    assert {code for _, code in raised[LAUNCH.name]} == {
        "symbolic-size",
        "scalar-parameter",
        "argument-dtype",
        "no-kernel",
        "several-kernels",
    }
