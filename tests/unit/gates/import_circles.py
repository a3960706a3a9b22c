"""Circles of imports over the whole tree: whoever is in one cannot be read, tested or moved without all of the others.

grimp's graph has every import, in function bodies and under ``TYPE_CHECKING`` too. Added are the packages that Python runs on the
way to a module, those around the importing module excepted.
"""

from itertools import accumulate

from grimp import ImportGraph, build_graph

__all__ = ["circles", "import_graph"]


def import_graph(*packages: str) -> ImportGraph:
    """Which module imports which, in these packages on the path."""
    graph = build_graph(*packages, cache_dir=None)
    for module in sorted(graph.modules):
        around = set(_packages(module))
        for imported in graph.find_modules_directly_imported_by(module):
            for package in _packages(imported):
                if package in graph.modules and package not in around and package != module:
                    graph.add_import(importer=module, imported=package)
    return graph


def circles(graph: ImportGraph) -> list[tuple[str, ...]]:
    """The ways around, shortest first, each module in one of them at most; empty when the imports have an order."""
    ways = {
        _from_the_first(way)
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if (way := graph.find_shortest_chain(importer=imported, imported=module))
    }
    found: list[tuple[str, ...]] = []
    for way in sorted(ways, key=lambda way: (len(way), way)):
        if not any(set(way) & set(other) for other in found):
            found.append(way)
    return found


def _from_the_first(way: tuple[str, ...]) -> tuple[str, ...]:
    start = way.index(min(way))
    return (*way[start:], *way[:start])


def _packages(module: str) -> list[str]:
    """The packages around a module, outermost first."""
    return list(accumulate(module.split(".")[:-1], lambda outer, name: f"{outer}.{name}"))
