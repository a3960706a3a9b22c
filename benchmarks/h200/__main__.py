"""The command. See the package's docstring."""

import argparse
import math
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

from benchmarks.h200.building import Built, Family, Plan, Workshop
from benchmarks.h200.measuring import measure_problem
from benchmarks.h200.problems import DEFAULT, PROBLEMS, Problem
from benchmarks.h200.report import table, write
from warpwright.lowering.compile import find_cuda
from warpwright.lowering.compile.toolchain import versions
from warpwright.lowering.measure import GPU_1, GPU_1_RESTED, Measured, Rounds
from warpwright.solver.domain import CandidateKind, HardwareProfile
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import available_cores, parallel_slots
from warpwright.tuning.measure import MeasureReport

BUILD_MEMORY_BYTES = 1300 << 20
"""Memory that one build was measured to take; with the cgroup's free memory it bounds how many run at once."""


class Bench:
    """One run: the results so far, written after every step."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.begun = time.monotonic()
        self.deadline = self.begun + float(options.seconds)
        self.cancel = threading.Event()
        self.lock = threading.Lock()
        self.profile: HardwareProfile = load_profile(options.profile)
        self.simulated = options.device == "simulated"
        self.device: dict[str, Any] = {"kind": options.device, "index": options.index}
        self.document: dict[str, Any] = {
            "schema": "warpwright.benchmark-h200/1",
            "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "protocol": GPU_1.name,
            "protocol_digest": GPU_1.digest(),
            "rested_protocol": GPU_1_RESTED.name,
            "rested_protocol_digest": GPU_1_RESTED.digest(),
            "profile": self.profile.name,
            "profile_digest": self.profile.digest,
            "device": {},
            "facts": {},
            "problems": {},
        }

    def left(self) -> float:
        """Seconds that remain."""
        return self.deadline - time.monotonic()

    def save(self) -> None:
        """Writes the results so far."""
        with self.lock:
            self.document["wall_seconds"] = time.monotonic() - self.begun
            write(self.options.out, self.document)

    def say(self, text: str) -> None:
        """One line of progress."""
        print(f"[{time.monotonic() - self.begun:6.1f} s] {text}", flush=True)

    def run(self) -> int:
        """Reads, proposes and builds all problems at once, then measures one after another."""
        names = self.options.only or (("gemm_4096",) if self.options.quick else DEFAULT)
        problems = [PROBLEMS[name] for name in names]
        for problem in problems:
            self.document["problems"][problem.name] = self.entry(problem)
        builders = self.options.builders or parallel_slots(BUILD_MEMORY_BYTES)
        self.say(f"{available_cores()} cores, {builders} builds at once, {self.options.seconds:.0f} s")
        if not self.simulated:
            self.document["facts"]["toolchain"] = versions(find_cuda().nvcc)
        with tempfile.TemporaryDirectory(prefix="h200-") as work:
            shop = Workshop(self.profile, builders, Path(work), source_only=self.simulated)
            try:
                built = self.build(shop, problems)
            finally:
                shop.close()
            for position, problem in enumerate(problems):
                share = self.left() / (len(problems) - position)
                self.measure(problem, built.get(problem.name, []), share)
        self.save()
        print(table(self.document))
        return 0 if all(entry.get("winner") for entry in self.document["problems"].values()) else 1

    def entry(self, problem: Problem) -> dict[str, Any]:
        """The empty record of a problem."""
        return {
            "title": problem.title,
            "size": dict(problem.size),
            "flops": problem.flops,
            "yardsticks": list(problem.yardsticks),
            "candidates": {},
            "notes": [],
            "seconds": {},
        }

    def build(self, shop: Workshop, problems: list[Problem]) -> dict[str, list[Built]]:
        """Builds everything; one pool of compilers serves all problems, baselines go first while the solver still runs."""
        built: dict[str, list[Built]] = {problem.name: [] for problem in problems}
        stop_at = self.begun + self.options.seconds * 0.6
        begun = time.monotonic()
        families: list[Family] = []
        with ThreadPoolExecutor(len(problems)) as threads:
            for problem, job in [(p, threads.submit(shop.read, p)) for p in problems]:
                try:
                    families.append(job.result())
                except RuntimeError as error:
                    self.document["problems"][problem.name]["notes"].append(str(error))
        self.say(f"read {sum(len(family.variants) for family in families)} variants")
        with ThreadPoolExecutor(2 * len(problems) or 1) as threads:
            jobs = []
            for family in families:
                jobs.append(threads.submit(self.build_baselines, shop, family, built, stop_at))
                jobs.append(threads.submit(self.build_candidates, shop, family, built, stop_at))
            for done in jobs:
                done.result()
        self.say(f"built in {time.monotonic() - begun:.0f} s")
        return built

    def build_baselines(self, shop: Workshop, family: Family, built: dict[str, list[Built]], stop_at: float) -> None:
        """TileLang's own choices."""
        plans = shop.baselines(family)
        if self.options.quick:
            plans = [plan for plan in plans if plan.variant == 0]
        self.build_plans(shop, family.problem, plans, built, stop_at)

    def build_candidates(self, shop: Workshop, family: Family, built: dict[str, list[Built]], stop_at: float) -> None:
        """The solver's."""
        record = self.document["problems"][family.problem.name]
        begun = time.monotonic()
        count, each = (4, 1) if self.options.quick else (self.options.candidates, self.options.each)
        plans, notes, excluded = shop.propose(family, count, each, max(30.0, self.options.seconds * 0.35))
        record["seconds"]["propose"] = time.monotonic() - begun
        record["notes"] += [*notes, *(f"no schedule for {text}" for text in family.refused)]
        record["excluded"] = excluded
        self.say(f"{family.problem.name}: {len(plans)} candidates in {record['seconds']['propose']:.0f} s")
        self.build_plans(shop, family.problem, plans, built, stop_at)

    def build_plans(
        self, shop: Workshop, problem: Problem, plans: list[Plan], built: dict[str, list[Built]], stop_at: float
    ) -> None:
        """Builds and records."""
        record = self.document["problems"][problem.name]
        if problem.options and not self.options.quick:
            plans = [
                *plans,
                *(
                    plan.with_options(*problem.options)
                    for plan in plans
                    if plan.kind is not CandidateKind.UNSPECIALIZED
                ),
            ]

        def on_built(one: Built) -> None:
            with self.lock:
                built[problem.name].append(one)
                record["candidates"][one.plan.id] = built_record(one)
                record["seconds"]["building (all cores)"] = time.monotonic() - self.begun
            if one.failure:
                self.say(f"{problem.name}: {one.plan.id}: {one.failure[:160]}")
            self.save()

        shop.build(plans, on_built, stop_at)

    def measure(self, problem: Problem, built: list[Built], seconds: float) -> None:
        """Measures one problem."""
        record = self.document["problems"][problem.name]
        begun = time.monotonic()
        if self.simulated:
            self.device["kernels"] = simulated_script(built, problem)

        def on_result(measured: Measured) -> None:
            with self.lock:
                entry = record["candidates"].setdefault(measured.candidate, {"label": measured.candidate})
                entry.update(measured_record(measured))
            figure = (
                f"{entry['ms']:.4f} ms" if "ms" in entry else f"{entry['outcome']}: {measured.outcome.message[:120]}"
            )
            self.say(f"{problem.name}: {entry['label']}: {figure} {' '.join(measured.flags)}")
            self.save()

        report = measure_problem(
            problem,
            built,
            self.device,
            self.profile,
            seconds=min(seconds, self.options.measure_seconds),
            cancel=self.cancel,
            on_result=on_result,
        )
        with self.lock:
            record["seconds"]["measure"] = time.monotonic() - begun
            self.conclude(record, report)
        self.save()
        if report.rounds is not None:
            self.measure_rested(problem, built, set(report.rounds.figures_ns))

    def measure_rested(self, problem: Problem, built: list[Built], finalists: set[str]) -> None:
        """The finalists and the libraries again at the boost clock: at the power limit all good schedules take the same time."""
        record = self.document["problems"][problem.name]
        begun = time.monotonic()
        report = measure_problem(
            problem,
            [one for one in built if one.plan.id in finalists or one.plan.kind is CandidateKind.UNSPECIALIZED],
            self.device,
            self.profile,
            seconds=self.options.measure_seconds,
            cancel=self.cancel,
            protocol=GPU_1_RESTED,
        )
        with self.lock:
            record["seconds"]["measure rested"] = time.monotonic() - begun
            record["rested"] = {**rounds_record(report.rounds), **verdict_record(report)}
        self.save()

    def conclude(self, record: dict[str, Any], report: MeasureReport) -> None:
        """Rounds, verdict, device."""
        if report.facts:
            self.document["device"] = report.facts
        record["partial"] = report.partial
        if report.screening is not None:
            for name, times in report.screening.figures_ns.items():
                record["candidates"][name]["screening_ms"] = median(times) / 1e6
        record.update(rounds_record(report.rounds))
        record.update(verdict_record(report))
        for name, times in report.rounds.figures_ns.items() if report.rounds is not None else ():
            record["candidates"][name]["rounds_ms"] = median(times) / 1e6


def rounds_record(rounds: Rounds | None) -> dict[str, Any]:
    """The record of interleaved rounds; empty when there were none."""
    if rounds is None:
        return {}
    return {
        "rounds_ns": {name: list(times) for name, times in rounds.figures_ns.items()},
        "rounds_before": asdict(rounds.before) if rounds.before else None,
        "rounds_after": asdict(rounds.after) if rounds.after else None,
        "wrong_after_rounds": rounds.wrong,
    }


def verdict_record(report: MeasureReport) -> dict[str, Any]:
    """The winner, the ties, and by how much."""
    if report.verdict is None:
        return {}
    found = report.verdict
    return {"winner": found.winner, "tied": list(found.tied), "margin": found.margin}


def built_record(one: Built) -> dict[str, Any]:
    """The record of a build."""
    plan, kernel = one.plan, one.kernel
    shown = " ".join(f"{key}{value}" for key, value in plan.params.items() if key in TILE)
    record: dict[str, Any] = {
        "label": f"{plan.kind} {shown} {' '.join((*plan.structure.values(), *plan.options))}".strip(),
        "kind": plan.kind,
        "origin": plan.origin,
        "options": list(plan.options),
        "variant": plan.variant,
        "params": plan.params,
        "structure": plan.structure,
        "schedule": plan.schedule,
        "status": plan.status,
        "forecast_ns": plan.forecast_ns,
        "built": kernel is not None and not one.failure,
        "build_seconds": one.seconds,
        "failure": one.failure,
    }
    if kernel is not None:
        record["seconds"] = kernel.seconds
        record["launch"] = asdict(kernel.launch) if kernel.launch else None
        record["ptxas"] = asdict(kernel.ptxas) if kernel.ptxas else None
        record["details"] = list(kernel.outcome.details)
        record["source_digest"] = kernel.source_digest
        record["binary_digest"] = kernel.binary_digest
    return record


TILE = ("BM", "BN", "BK", "workers", "threads", "parts", "flight", "panel")


def measured_record(measured: Measured) -> dict[str, Any]:
    """The record of a measurement."""
    record: dict[str, Any] = {
        "outcome": measured.outcome.kind.value,
        "flags": list(measured.flags),
        "measure_seconds": measured.seconds,
        "waves": measured.waves,
        "before": asdict(measured.before) if measured.before else None,
        "after": asdict(measured.after) if measured.after else None,
    }
    errors = [
        c.relative_error for check in measured.checks for c in check.comparisons if math.isfinite(c.relative_error)
    ]
    record["relative_error"] = max(errors, default=None)
    record["checks"] = len(measured.checks)
    if measured.summary is not None:
        record["ms"] = measured.summary.median_ns / 1e6
        record["summary"] = asdict(measured.summary)
    elif measured.outcome.message:
        record["failure"] = f"{measured.outcome.kind}: {measured.outcome.message}"
    return record


def simulated_script(built: list[Built], problem: Problem) -> dict[str, Any]:
    """Times near the forecasts, with one hang, one wrong result and noise: for dry runs."""
    script: dict[str, Any] = {
        name: {"ns": 200_000 if "gemm" in problem.name else 3_300_000} for name in problem.yardsticks
    }
    for number, one in enumerate(built):
        script[one.plan.id] = {"ns": one.plan.forecast_ns or 1e6, "noise": 0.004}
        if one.plan.kind is CandidateKind.SCHEDULED and number % 7 == 3:
            script[one.plan.id] = {"fault": "illegal"} if number % 2 else {"wrong": "value"}
    return script


def main() -> int:
    """Parses the command line and runs."""
    parser = argparse.ArgumentParser(description="Tune and measure the example families on the GPU of this machine.")
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--profile", default="h200")
    parser.add_argument("--only", nargs="*", choices=sorted(PROBLEMS))
    parser.add_argument("--quick", action="store_true", help="GEMM 4096 with four candidates")
    parser.add_argument("--candidates", type=int, default=10, help="candidates of each family, by forecast")
    parser.add_argument(
        "--each", type=int, default=2, help="candidates of each variant with an expert's pins, in addition"
    )
    parser.add_argument("--seconds", type=float, default=440.0, help="wall time of the whole run")
    parser.add_argument("--measure-seconds", type=float, default=110.0, help="at most, for one problem")
    parser.add_argument("--builders", type=int, default=0)
    parser.add_argument("--device", choices=["cuda", "simulated"], default="cuda")
    parser.add_argument("--index", type=int, default=0)
    options = parser.parse_args()
    bench = Bench(options)

    def stop(number: int, frame: FrameType | None) -> None:
        bench.cancel.set()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    return bench.run()


if __name__ == "__main__":
    sys.exit(main())
