"""How well forecasts order measured landscapes: ``python -m benchmarks.ranking FILE... [--profile h200] [--detail]``.

Reads landscape files (``[{"spec": {"kind", "a"}, "ms"}, ...]``), forecasts every entry, and prints a JSON list of
``{"file", "n", "kendall_tau", "top8_fraction"}``: rank correlation (tau-b) of forecast and measured time, and best measured
time of all over best measured time among the eight entries that were forecast fastest. Entries without a time (failed) and
the rows of libraries are left out.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.kernels.graphs import attention_graph, gemm_graph
from warpwright.solver.domain import (
    BaselineKind,
    CandidateKind,
    HardwareProfile,
    KernelGraph,
    OpKind,
    Pipeline,
    Role,
    WarpSchedule,
)
from warpwright.solver.forecast import Simulation, forecast_baseline, simulate
from warpwright.solver.forecast.assemble import assemble
from warpwright.solver.forecast.rank_correlation import kendall_tau, top_fraction
from warpwright.solver.profiles import load_profile

__all__ = ["Entry", "Landscape", "forecast", "kendall_tau", "read_landscape", "score"]

BASELINE_KINDS: dict[str, BaselineKind] = {
    "plain": CandidateKind.DEFAULT,
    "role": CandidateKind.ROLE_BASED,
    "nows": CandidateKind.UNSPECIALIZED,
}


ATTENTION_LIBRARIES = {"cudnn", "flash2", "flash3", "sdpa"}
GEMM_LIBRARIES = {"torch", "cublas"}
SMALLEST_GEMM_EXTENT = 512


@dataclass(frozen=True, slots=True)
class Entry:
    """One measured schedule: kind, its parameters, and its time in milliseconds."""

    kind: str
    a: tuple[int, ...]
    ms: float


@dataclass(frozen=True, slots=True)
class Landscape:
    """The measured entries of one file: all of one GEMM or of one attention."""

    file: str
    entries: tuple[Entry, ...]
    attention: bool


def read_landscape(path: Path) -> Landscape:
    """The measured entries of a landscape file.

    Raises:
        ValueError: the file is not a landscape.
    """
    rows = json.loads(path.read_text())
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path}: a landscape is a JSON list of objects")
    entries = []
    for row in rows:
        spec, ms = row.get("spec"), row.get("ms")
        if isinstance(spec, dict) and isinstance(ms, int | float) and math.isfinite(ms) and ms > 0:
            entries.append(Entry(spec["kind"], tuple(spec["a"]), float(ms)))
    libraries = {row["spec"] for row in rows if isinstance(row.get("spec"), str)}
    return Landscape(path.name, tuple(entries), _is_attention(entries, libraries))


def _is_attention(entries: Sequence[Entry], libraries: set[str]) -> bool:
    """Whether the entries are attention: from the library rows, else from the number of parameters of the other kinds.

    Explicit schedules have ten parameters in both; without one the GEMM kernels have eight and attention ten (two zeros).
    Where neither helps, an attention's first two parameters (batch, heads) are smaller than any GEMM's, and its fourth (head
    dimension) is the same everywhere, where a GEMM's is its tile's height.
    """
    if libraries & ATTENTION_LIBRARIES:
        return True
    if libraries & GEMM_LIBRARIES or any(len(entry.a) == 8 for entry in entries):
        return False
    return (
        all(max(entry.a[:2]) < SMALLEST_GEMM_EXTENT for entry in entries)
        and len({entry.a[3] for entry in entries}) == 1
    )


@lru_cache(maxsize=256)
def graph_of(attention: bool, parameters: tuple[int, ...]) -> KernelGraph:
    """The kernel graph of an entry's first eight parameters."""
    return attention_graph(*parameters) if attention else gemm_graph(*parameters)


def schedule_of(graph: KernelGraph, depth: int, warpgroups: int, load: int, consumer: int) -> WarpSchedule:
    """The explicit schedule of a ``ws`` entry: consumer role first, a one-warp load role behind it.

    One pipeline for A and B; K, V and Q have their own.
    """
    warps = 4 * warpgroups
    roles = [Role("consumer", 0, warps, consumer), Role("load", warps, warps + 1, load)]
    placement = {op.id: ("load" if op.kind is OpKind.TMA_LOAD else "consumer",) for op in graph.ops}
    if graph.name == "gemm":
        pipelines = [Pipeline("as_bs", ("As", "Bs"), depth)]
    else:
        pipelines = [Pipeline("qs", ("Qs",), 1), Pipeline("ks", ("Ks",), depth), Pipeline("vs", ("Vs",), depth)]
    producers = {p.name: "load" for p in pipelines}
    return assemble(graph, roles, placement, pipelines, producers, warps + 4, wgmma=True)


def forecast(entry: Entry, profile: HardwareProfile, *, attention: bool) -> Simulation:
    """The simulator's forecast of one entry.

    Raises:
        ValueError: an unknown kind, or parameters that do not describe a schedule.
    """
    graph = graph_of(attention, entry.a[:8])
    if entry.kind == "ws":
        load, consumer = entry.a[8:10]
        return simulate(graph, profile, schedule_of(graph, entry.a[6], entry.a[7], load, consumer))
    if entry.kind not in BASELINE_KINDS:
        raise ValueError(f"unknown kind {entry.kind!r}")
    return forecast_baseline(graph, profile, BASELINE_KINDS[entry.kind])


def score(path: Path, profile: HardwareProfile, *, detail: bool = False) -> dict[str, object]:
    """The result object of one landscape file."""
    landscape = read_landscape(path)
    entries, attention = landscape.entries, landscape.attention
    played = [forecast(entry, profile, attention=attention) for entry in entries]
    predicted = [simulation.nanoseconds / 1e6 for simulation in played]
    measured = [entry.ms for entry in entries]
    result: dict[str, object] = {
        "file": path.name,
        "n": len(entries),
        "kendall_tau": round(kendall_tau(predicted, measured) or 0.0, 4),
        "top8_fraction": round(top_fraction(predicted, measured), 4),
    }
    if detail:
        rows = sorted(zip(entries, predicted, played, strict=True), key=lambda row: row[1])
        for entry, ms, simulation in rows:
            print(
                f"# {entry.kind:5} {entry.a[3:] if not attention else entry.a[4:]!s:36} measured {entry.ms:8.4f} "
                f"forecast {ms:8.4f} ({ms / entry.ms - 1:+.0%}) interval {simulation.interval_cycles:7.0f} "
                f"x{simulation.blocks_per_sm} {simulation.clock_mhz:.0f} MHz {simulation.bottleneck}"
            )
    return result


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--profile", default="h200", help="hardware profile: name of a built-in one, or a file")
    parser.add_argument(
        "--detail", action="store_true", help="print every entry with its forecast, best forecast first"
    )
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile)
    print(json.dumps([score(path, profile, detail=arguments.detail) for path in arguments.files]))


if __name__ == "__main__":
    main()
