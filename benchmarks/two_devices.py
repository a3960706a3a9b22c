"""Do two devices of one host disturb each other's measurements? The same kernel alone on each, then on both at once.

``python3 -m benchmarks.two_devices --out DIR`` writes ``DIR/two_devices.json`` and prints the ratios. One child per device, each
under its own lease; the sessions overlap because each measures the kernel several times. A ratio within the spread of the solo
runs means that they do not disturb each other. ``--device simulated`` is a dry run.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.h200.building import Built, Workshop
from benchmarks.h200.measuring import floor_ns, simulated
from benchmarks.h200.problems import PROBLEMS
from warpwright.lowering.compile import CompiledKernel
from warpwright.lowering.measure import MeasureJob
from warpwright.lowering.measure.statistics import quantile
from warpwright.solver.domain import CandidateKind
from warpwright.solver.profiles import load_profile
from warpwright.tuning.measure import MeasureReport, measure_all


def build(problem_name: str, profile_name: str, folder: Path, *, source_only: bool) -> dict[str, CompiledKernel]:
    """TileLang's default and the unspecialised reference of the family's first variant."""
    shop = Workshop(load_profile(profile_name), 2, folder, source_only=source_only)
    try:
        family = shop.read(PROBLEMS[problem_name])
        plans = [
            p
            for p in shop.baselines(family)
            if p.variant == 0 and p.kind in (CandidateKind.DEFAULT, CandidateKind.UNSPECIALIZED)
        ]
        built: dict[str, CompiledKernel] = {}

        def on_built(one: Built) -> None:
            if one.kernel is None or one.failure:
                raise SystemExit(f"{one.plan.id}: {one.failure}")
            built[one.plan.kind] = one.kernel

        shop.build(plans, on_built, time.monotonic() + 300)
        return built
    finally:
        shop.close()


def session(jobs: Sequence[MeasureJob], device: dict[str, Any]) -> list[float]:
    """Medians, in milliseconds, of the kernel measured several times on one device."""
    report: MeasureReport = measure_all(jobs, device, budget_seconds=120)
    figures = [result.summary.median_ns / 1e6 for result in report.results if result.summary is not None]
    if len(figures) < len(jobs):
        raise SystemExit(f"{device}: {[result.outcome for result in report.results if result.summary is None][:2]}")
    return figures


def described(times: Sequence[float]) -> dict[str, float]:
    """Median and half the interquartile range."""
    return {
        "median_ms": median(times),
        "spread_ms": (quantile(times, 0.75) - quantile(times, 0.25)) / 2,
        "count": len(times),
    }


def main() -> int:
    """Solo, together, solo again; the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--problem", choices=sorted(PROBLEMS), default="gemm_8192")
    parser.add_argument("--profile", default="h200")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--device", choices=["cuda", "simulated"], default="cuda")
    options = parser.parse_args()
    begun = time.monotonic()
    problem, profile = PROBLEMS[options.problem], load_profile(options.profile)
    with tempfile.TemporaryDirectory(prefix="two-devices-") as folder:
        built = build(options.problem, options.profile, Path(folder), source_only=options.device == "simulated")
        kernel, reference = built[CandidateKind.DEFAULT], built[CandidateKind.UNSPECIALIZED]
        if options.device == "simulated":
            kernel, reference = simulated(kernel, "kernel"), simulated(reference, "reference")
        job = MeasureJob("", kernel, reference, floor_ns(problem, profile))
        jobs = [replace(job, candidate=f"repeat {number}") for number in range(options.repeats)]
        script = {"kernel": {"ns": 2e6, "noise": 0.003}}
        devices = [{"kind": options.device, "index": index, "kernels": script} for index in (0, 1)]
        print(f"built, {time.monotonic() - begun:.0f} s", flush=True)
        solo = [session(jobs, device) for device in devices]
        with ThreadPoolExecutor(2) as threads:
            together = list(threads.map(session, [jobs, jobs], devices))
        again = [session(jobs, device) for device in devices]
    rows: list[dict[str, Any]] = []
    for index in (0, 1):
        alone, both = described([*solo[index], *again[index]]), described(together[index])
        rows.append(
            {"device": index, "alone": alone, "together": both, "ratio": both["median_ms"] / alone["median_ms"]}
        )
    document = {
        "schema": "warpwright.benchmark-two-devices/1",
        "problem": problem.title,
        "kernel": "TileLang default",
        "rows": rows,
        "figures_ms": {"solo": solo, "together": together, "again": again},
        "wall_seconds": time.monotonic() - begun,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "two_devices.json").write_text(json.dumps(document, indent=1))
    print("| device | alone ms | spread | together ms | spread | ratio |\n|---|---|---|---|---|---|")
    for row in rows:
        alone, both = row["alone"], row["together"]
        print(
            f"| {row['device']} | {alone['median_ms']:.4f} | {alone['spread_ms']:.4f} | {both['median_ms']:.4f} "
            f"| {both['spread_ms']:.4f} | {row['ratio']:.4f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
