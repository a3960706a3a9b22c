"""Imports go one way: no module is reached again by what it imports."""

from pathlib import Path

import pytest

from tests.unit.gates.import_circles import ROOT, circles, import_graph


def test_no_module_of_the_tree_imports_its_way_back_to_itself() -> None:
    graph = import_graph()
    assert len(graph) > 500
    assert circles(graph) == []


CASES: dict[str, tuple[dict[str, str], list[tuple[str, ...]]]] = {
    "at the top": ({"a.py": "import room.b", "b.py": "from room.a import x"}, [("room/a.py", "room/b.py")]),
    "in a function": (
        {"a.py": "def f():\n    from room import b", "b.py": "import room.a"},
        [("room/a.py", "room/b.py")],
    ),
    "for types": (
        {
            "a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import T",
            "b.py": "from . import a",
        },
        [("room/a.py", "room/b.py")],
    ),
    "over three": (
        {"a.py": "import room.b", "b.py": "import room.c", "c.py": "import room.a"},
        [("room/a.py", "room/b.py", "room/c.py")],
    ),
    "through the package that it is in": (
        {"__init__.py": "from room.a import x", "a.py": "from room import y"},
        [("room/__init__.py", "room/a.py")],
    ),
    "through a package on the way": (
        {
            "__init__.py": "from room.b import x",
            "a.py": "x = 1",
            "b.py": "import other.user",
            "other/user.py": "import room.a",
        },
        [("other/user.py", "room/__init__.py", "room/b.py")],
    ),
    "none": ({"__init__.py": "from room.a import x", "a.py": "from room import b", "b.py": "import json"}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_a_circle_is_found_wherever_its_imports_stand(tmp_path: Path, case: str) -> None:
    files, expected = CASES[case]
    for folder in ("room", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    for name, text in files.items():
        (tmp_path / name if "/" in name else tmp_path / "room" / name).write_text(text, "utf-8")
    assert circles(import_graph(tmp_path, ("room", "other"))) == expected


def test_the_folders_of_the_checkout_are_one_namespace() -> None:
    """A module is found by the name that it is imported by, through the link."""
    assert "solver/domain/__init__.py" in import_graph(ROOT, ("lowering", "solver"))["lowering/frontend/graph.py"]
