"""Schedules on record, with their graphs: compiled kernels, measured landscapes, constraint sets, our own kernels."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.ranking import graph_of, read_landscape, schedule_of
from tests import kernels
from warpwright.solver.domain import KernelGraph, WarpSchedule, load
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve

__all__ = ["Recorded", "compiled", "recorded"]

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests" / "golden"
LANDSCAPES = ROOT / "docs" / "results" / "landscapes"
EXPLICIT = "ws"
"""Kind of a landscape's entries that carry a schedule of their own."""
SOLVED = (
    *("gemm", "persistent_gemm", "attention", "two_gemms", "gemm_in_pairs"),
    *("rewrites_after_use", "filled_twice", "scattered", "blackwell_gemm"),
)
"""Our own kernels that are solved anew."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One schedule; ``line`` holds what a compiler said of it, empty where none was asked."""

    name: str
    graph: KernelGraph
    schedule: WarpSchedule
    profile: str
    line: dict[str, Any]

    def __str__(self) -> str:
        return self.name


@cache
def compiled() -> tuple[Recorded, ...]:
    """Kernels of the corpus and the examples under solved schedules, with what was read back (benchmarks.device_truth)."""
    made = []
    for text in (GOLDEN / "device" / "compiled.jsonl").read_text("utf-8").splitlines():
        line = json.loads(text)
        graph, schedule = load(KernelGraph, line.pop("graph")), load(WarpSchedule, line.pop("schedule"))
        name = f"{line['kernel']}-{line['pins']['consumer_warpgroups'] or 'own'}"
        made.append(Recorded(name, graph, schedule, "h200", line))
    return tuple(made)


@cache
def recorded() -> tuple[Recorded, ...]:
    """Every schedule on record whose graph can be made without a compiler."""
    return (*compiled(), *_measured(), *_legal(), *_solved())


def _measured() -> Iterator[Recorded]:
    for path in sorted(LANDSCAPES.glob("*.json")):
        if path.name.endswith(".facts.json"):
            continue
        landscape = read_landscape(path)
        for entry in landscape.entries:
            if entry.kind == EXPLICIT:
                graph = graph_of(landscape.attention, entry.a[:8])
                schedule = schedule_of(graph, entry.a[6], entry.a[7], *entry.a[8:10])
                yield Recorded(f"{path.stem}-{'-'.join(map(str, entry.a))}", graph, schedule, "h200", {})


def _legal() -> Iterator[Recorded]:
    for path in sorted((GOLDEN / "constraint_sets").glob("*.json")):
        for name, entry in json.loads(path.read_text("utf-8")).items():
            schedule = load(WarpSchedule, entry["legal"])
            yield Recorded(f"{path.stem}-{name}", getattr(kernels, name)(), schedule, profile_of(name), {})


def _solved() -> Iterator[Recorded]:
    for name in SOLVED:
        graph: KernelGraph = getattr(kernels, name)()
        found = getattr(solve(close_problem(graph, load_profile(profile_of(name)))), "schedule", None)
        assert isinstance(found, WarpSchedule), name
        yield Recorded(f"solved-{name}", graph, found, profile_of(name), {})


def profile_of(name: str) -> str:
    return "b200" if name.startswith("blackwell") else "h200"
