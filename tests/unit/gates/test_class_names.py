"""A public class name stands for one class in the whole product, so that a name in a message or a stack trace is enough.

Private classes, and stand-ins in ``testing`` packages, may be called what they are called elsewhere.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.unit.gates.test_imports import PRODUCT, ROOT, modules


def classes(source: str) -> Iterable[str]:
    """Names of the public classes of a module, those inside functions and classes included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def shared(sources: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names that several places define, with the places."""
    homes: dict[str, list[str]] = defaultdict(list)
    for place, source in sources:
        for name in classes(source):
            homes[name].append(place)
    return {name: places for name, places in homes.items() if len(places) > 1}


def of_the_product() -> Iterable[Path]:
    return (path for path in modules(*PRODUCT) if "testing" not in path.parts)


def test_no_public_class_name_stands_for_two_classes() -> None:
    sources = [(str(path.relative_to(ROOT)), path.read_text("utf-8")) for path in of_the_product()]
    assert len(sources) > 300
    assert shared(sources) == {}


def test_it_would_be_seen() -> None:
    one = "class Same:\n    pass\n"
    assert shared([("a", one), ("b", "def f():\n    class Same: ...\n")]) == {"Same": ["a", "b"]}
    assert shared([("a", one), ("b", "class _Same: ...\nclass Other: ...")]) == {}
