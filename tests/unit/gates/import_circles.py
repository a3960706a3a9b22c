"""Circles of imports over the whole tree: whoever is in one cannot be read, tested or moved without all of the others.

Every import counts, in function bodies and under ``TYPE_CHECKING`` too, and so do the packages that Python imports on the way to
a module, those around the importing module excepted.
"""

import ast
from collections.abc import Iterable, Mapping, Set
from functools import cache
from pathlib import Path

__all__ = ["FOLDERS", "ROOT", "circles", "import_graph"]

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = (
    "warpwright", "service", "tuning", "lowering", "solver", "migrations", "tests", "benchmarks", "examples",
)  # fmt: skip

NAMESPACE = "warpwright"
"""The package that the folders are linked into, so that it is around all of them."""

Graph = Mapping[str, Set[str]]
"""Modules, by their path in the checkout, and those of ours that each imports."""


def import_graph(root: Path = ROOT, folders: Iterable[str] = FOLDERS) -> Graph:
    """Which file imports which; a link into the namespace stands for the file behind it."""
    paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py")) if not path.is_symlink()]
    return {str(path.relative_to(root)): _imported(root, path) for path in paths}


def circles(graph: Graph) -> list[tuple[str, ...]]:
    """The ways around, shortest first, each module in one of them at most; empty when the imports have an order."""
    left = {module: {each for each in imported if each in graph} for module, imported in graph.items()}
    while free := [module for module, imported in left.items() if not imported & left.keys()]:
        for module in free:
            del left[module]
    ways = sorted((way for start in left if (way := _way_back(left, start))), key=lambda way: (len(way), way))
    found: list[tuple[str, ...]] = []
    for way in ways:
        if not any(set(way) & set(other) for other in found):
            found.append(way)
    return found


def _way_back(graph: Graph, start: str) -> tuple[str, ...]:
    """The shortest way from a module to itself, empty when there is none."""
    before = {start: ""}
    queue = [start]
    for module in queue:
        for imported in sorted(graph[module]):
            if imported == start:
                way = [module]
                while before[way[-1]]:
                    way.append(before[way[-1]])
                return tuple(reversed(way))
            if imported in graph and imported not in before:
                before[imported] = module
                queue.append(imported)
    return ()


def _imported(root: Path, path: Path) -> set[str]:
    """The files whose code must have run when this one's imports have: modules, and packages on the way from outside them."""
    place = path.relative_to(root)
    around = {folder / "__init__.py" for folder in place.parents}
    if (root / NAMESPACE / place.parts[0]).exists():
        around.add(Path(NAMESPACE, "__init__.py"))
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for name in _names(node, root, place):
            *packages, last = _files(root, name) or [place]
            found |= {last, *(package for package in packages if package not in around)}
    return {str(file) for file in found - {place}}


def _names(node: ast.AST, root: Path, place: Path) -> list[str]:
    """The modules that an import names: what ``from`` takes its members from, unless all of them are modules themselves."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    around = place.parent.parts[: len(place.parent.parts) - node.level + 1] if node.level else ()
    base = ".".join((*around, *((node.module,) if node.module else ())))
    members = [f"{base}.{alias.name}" for alias in node.names]
    modules = [member for member in members if len(_files(root, member)) > len(_files(root, base))]
    return modules if len(modules) == len(members) else [base, *modules]


@cache
def _files(root: Path, name: str) -> tuple[Path, ...]:
    """The files of ours behind a dotted name, outermost package first; a name that is not a module ends with its package."""
    found: list[Path] = []
    place = root
    for part in name.split("."):
        place = place / part
        for file in (place / "__init__.py", place.with_name(f"{part}.py")):
            if file.is_file():
                found.append(file.resolve().relative_to(root.resolve()))
    return tuple(found)
