"""Imports go one way: no module is reached again by what it imports."""

from pathlib import Path

import pytest

from tests.unit.gates.import_circles import circles, import_graph


def test_no_module_of_the_tree_imports_its_way_back_to_itself() -> None:
    graph = import_graph("warpwright", "benchmarks", "tests")
    assert len(graph.modules) > 700
    assert circles(graph) == []


CASES: dict[str, tuple[dict[str, str], list[tuple[str, ...]]]] = {
    "at the top": ({"a": "import {0}.b", "b": "from {0}.a import x"}, [("{0}.a", "{0}.b")]),
    "in a function": ({"a": "def f():\n    from {0} import b", "b": "import {0}.a"}, [("{0}.a", "{0}.b")]),
    "for types": (
        {"a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import T", "b": "from . import a"},
        [("{0}.a", "{0}.b")],
    ),
    "over three": (
        {"a": "import {0}.b", "b": "import {0}.c", "c": "import {0}.a"},
        [("{0}.a", "{0}.b", "{0}.c")],
    ),
    "through the package that it is in": (
        {"__init__": "from {0}.a import x", "a": "from {0} import y"},
        [("{0}", "{0}.a")],
    ),
    "through a package on the way": (
        {
            "inner/__init__": "from {0}.b import x",
            "inner/a": "x = 1",
            "b": "import {0}.user",
            "user": "import {0}.inner.a",
        },
        [("{0}.b", "{0}.user", "{0}.inner")],
    ),
    "none": ({"__init__": "from {0}.a import x", "a": "from {0} import b", "b": "import json"}, []),
}


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)))
def test_a_circle_is_found_wherever_its_imports_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, case: str
) -> None:
    files, expected = CASES[case]
    room = f"room_{number}_of_the_circle_gate"
    for name, text in {"__init__": "", **files}.items():
        file = tmp_path / room / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(room), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert circles(import_graph(room)) == [tuple(name.format(room) for name in way) for way in expected]
