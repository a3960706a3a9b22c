"""How far forecasts are above proven intervals: ``python -m benchmarks.interval_ratio [FOLDER | FILE.py ...] [--profile h200]``.

Kernels are IR documents in folders (those of the tests' corpus and the examples' variants, made by ``python
tests/integration/lowering/frontend/build_corpus.py FOLDER``), or kernel files. Each is solved, and its schedule is played. A
row has the headline loop, its lower bound, the proven interval, the interval that the forecast settles at, their ratio, and
the losses in between: what the busiest stream of the play waits for or loses to shared units, as shares of the forecast's
interval. Loops that end before they settle (fewer iterations than pipelines need to fill and drain) are listed without a ratio.

Prints JSON; ``--table`` prints Markdown instead.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from warpwright.graphs import read_graph
from warpwright.kernel_file import read_kernel_file
from warpwright.solver.domain import HardwareProfile, KernelGraph, WarpSchedule, WarpwrightError
from warpwright.solver.engines import Budget
from warpwright.solver.forecast import losses_between, simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve
from warpwright.tuning.children import ChildPool

__all__ = ["main", "row", "summary"]

Row = dict[str, object]

WORK, SECONDS = 8_000, 20.0


def kernels(paths: Sequence[Path], profile: HardwareProfile, pool: ChildPool) -> Iterator[tuple[str, KernelGraph]]:
    """Every kernel that can be read on the device, by name; refused ones are left out."""
    for path in paths:
        if path.is_dir():
            documents = [(file.stem, file.read_text()) for file in sorted(path.glob("*.json"))]
        else:
            variants = read_kernel_file(path, pool=pool).variants
            documents = [(f"{path.stem}_{number}", variant.ir) for number, variant in enumerate(variants)]
        for name, ir in documents:
            try:
                yield name, read_graph(ir, profile, pool=pool)
            except WarpwrightError:
                continue


def row(name: str, graph: KernelGraph, profile: HardwareProfile) -> Row | None:
    """One kernel's numbers; None if it has no schedule or no loop."""
    verdict = solve(close_problem(graph, profile), budget=Budget(WORK, SECONDS))
    schedule, certificate = getattr(verdict, "schedule", None), getattr(verdict, "certificate", None)
    if not isinstance(schedule, WarpSchedule) or certificate is None:
        return None
    proven = certificate.initiation_interval_cycles
    if proven is None or certificate.scope is None:
        return None
    loop, played = certificate.scope.loop, simulate(graph, profile, schedule)
    settled = played.settled.get(loop)
    return {
        "kernel": name,
        "loop": loop,
        "status": verdict.status,
        "bound": certificate.lower_bound.cycles,
        "reason": certificate.lower_bound.reason,
        "interval": proven,
        "forecast": None if settled is None else round(settled, 1),
        "ratio": None if settled is None else round(settled / proven, 3),
        "blocks_per_sm": played.blocks_per_sm,
        "losses": {} if settled is None else losses_between(proven, settled, played, loop),
    }


def summary(rows: Sequence[Row]) -> dict[str, float | int]:
    """Median and range of the ratios."""
    ratios = [ratio for each in rows if isinstance(ratio := each["ratio"], float)]
    if not ratios:
        return {"kernels": 0}
    return {
        "kernels": len(ratios),
        "median": round(statistics.median(ratios), 3),
        "least": min(ratios),
        "most": max(ratios),
    }


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| kernel | loop | bound | proven interval | forecast | ratio | losses |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in rows:
        lost = each["losses"]
        assert isinstance(lost, dict)
        named = ", ".join(f"{cause} {share:.1%}" for cause, share in lost.items())
        bound = f"{each['bound']} ({each['reason']})"
        forecast, ratio = each["forecast"], each["ratio"]
        shown = ("ends before it settles", "-") if ratio is None else (f"{forecast:.0f}", f"{ratio:.3f}")
        lines.append(
            f"| {each['kernel']} | {each['loop']} | {bound} | {each['interval']} | {shown[0]} | {shown[1]} | {named} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="folders of IR documents, or kernel files")
    parser.add_argument("--profile", default="h200", help="hardware profile")
    parser.add_argument("--table", action="store_true", help="print Markdown")
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile)
    with ChildPool(1) as pool:
        found = [row(name, graph, profile) for name, graph in kernels(arguments.paths, profile, pool)]
    rows = [each for each in found if each is not None]
    groups = {
        "examples": [each for each in rows if str(each["kernel"]).startswith("example_")],
        "corpus": [each for each in rows if not str(each["kernel"]).startswith("example_")],
    }
    if arguments.table:
        for name, members in groups.items():
            print(f"## {name}\n\n{table(members)}\n\n{json.dumps(summary(members))}\n")
        return
    print(json.dumps({"summary": {name: summary(members) for name, members in groups.items()}, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
