"""Every public failure that concerns the service has a test, and the table that says so names tests that are there."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
TABLE = TESTS.parent / "docs" / "results" / "bug_cases.md"

CASES = {
    *(22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40, 41, 43, 44, 46, 47),
    *(62, 64, 65, 67, 68, 70, 71, 73, 74, 76),
    *(77, 79, 80, 82, 83, 85, 86, 88, 89, 91, 92, 98),
    16,
}
PITFALLS = 17
USERS_WAYS = ("acceptance/", "integration/warpwright/")
PROCESSES = ("integration/service/test_migrations.py::test_four_processes_at_once_and_one_killed_migrate_exactly_once",)
"""What starts with real processes is the way of whoever starts servers."""


def rows() -> list[tuple[str, list[str]]]:
    """First cell and named tests of each row."""
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("|") and "::" in line]
    return [(line.split("|")[1].strip(), re.findall(r"`([^`]+::[^`]+)`", line)) for line in lines]


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def missing(names: list[str]) -> list[str]:
    """Named tests that are not there."""
    split = [(name, TESTS / name.partition("::")[0], name.partition("::")[2]) for name in names]
    return [name for name, path, function in split if not path.exists() or function not in functions(path)]


def test_every_case_and_pitfall_has_a_row_with_tests() -> None:
    numbered = {int(first) for first, _ in rows() if first.isdigit()}
    assert numbered == CASES
    assert len([first for first, _ in rows() if not first.isdigit()]) == PITFALLS


def test_every_case_has_a_test_on_the_way_of_a_user() -> None:
    """Of the command line, of HTTP, or of a user's program: a helper that is right is no use if nobody calls it."""
    helpers = [first for first, names in rows() if first.isdigit() and not any(map(on_a_users_way, names))]
    assert helpers == []
    assert not on_a_users_way("unit/gates/test_bug_cases.py::test_every_named_test_is_there")


def on_a_users_way(name: str) -> bool:
    return name.startswith(USERS_WAYS) or name in PROCESSES


def test_every_named_test_is_there() -> None:
    assert missing([name for _, names in rows() for name in names]) == []


def test_a_test_that_is_gone_is_found() -> None:
    gone = ["unit/gates/test_bug_cases.py::test_nothing", "unit/gates/nowhere.py::test_x"]
    assert missing([*gone, "unit/gates/test_bug_cases.py::test_a_test_that_is_gone_is_found"]) == gone
