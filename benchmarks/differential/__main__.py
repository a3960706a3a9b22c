"""``python -m benchmarks.differential``: 10,000 schedules to our verifier and to TileLang's materialiser; a report.

Ends with exit code 1 when our verifier accepts what TileLang refuses, or refuses without a named rule.
"""

import argparse
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.differential.compare import KERNEL_NAMES, Tally, TileLang, compare, prepare
from warpwright.solver.domain import dump
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import CONSTRAINT_SET
from warpwright.tuning.children import ChildPool

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


def main() -> int:
    """Run the comparison and write ``differential.json`` and ``differential.md``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="schedules in all")
    parser.add_argument("--seed", type=int, default=20_261_129)
    parser.add_argument("--profile", default="h200")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile)
    tally, started = Tally(), time.monotonic()
    tilelang = TileLang()
    shares = _shares(arguments.count, len(KERNEL_NAMES))
    try:
        with ChildPool(1, warm_task="frontend.read") as pool:
            for name, share in zip(KERNEL_NAMES, shares, strict=True):
                case = prepare(pool, tilelang, name, profile)
                for outcome in compare(case, tilelang, share, arguments.seed, progress=_progress(name, share)):
                    tally.add(outcome)
    finally:
        tilelang.close()
    report = _report(tally, arguments, time.monotonic() - started)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "differential.json").write_text(json.dumps(report, indent=1, sort_keys=True) + "\n")
    (arguments.out / "differential.md").write_text(_table(report))
    print(json.dumps({key: report[key] for key in ("schedules", "both_accept", "both_refuse", "stricter", "laxer")}))
    return 1 if tally.laxer or tally.nameless else 0


def _shares(count: int, parts: int) -> list[int]:
    return [count // parts + (index < count % parts) for index in range(parts)]


def _progress(name: str, share: int) -> Any:
    def show(done: int) -> None:
        if sys.stderr.isatty() or done % 500 < 25:
            print(f"\r{name}: {done} of {share}", end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)

    return show


def _report(tally: Tally, arguments: argparse.Namespace, seconds: float) -> dict[str, Any]:
    stricter = sum(
        count for counts in tally.by_kernel.values() for word, count in counts.items() if word.endswith("stricter")
    )
    return {
        "schedules": tally.both_accept + tally.both_refuse + stricter + len(tally.laxer),
        "both_accept": tally.both_accept,
        "both_refuse": tally.both_refuse,
        "stricter": stricter,
        "stricter_by_rule": dict(tally.stricter.most_common()),
        "laxer": len(tally.laxer),
        "laxer_cases": [
            {"kernel": o.kernel, "kind": o.kind, "number": o.number, "refusal": o.refusal, "schedule": dump(o.schedule)}
            for o in tally.laxer[:50]
        ],
        "without_named_rule": len(tally.nameless),
        "refusals_of_tilelang": dict(tally.refusals.most_common(60)),
        "by_kernel": {name: dict(sorted(counts.items())) for name, counts in tally.by_kernel.items()},
        "seed": arguments.seed,
        "profile": arguments.profile,
        "constraint_set": CONSTRAINT_SET,
        "versions": {name: version(name) for name in ("tilelang", "ortools")},
        "seconds": round(seconds),
    }


def _table(report: dict[str, Any]) -> str:
    lines = [
        "# Our verifier against TileLang's materialiser",
        "",
        f"{report['schedules']:,} schedules on {len(report['by_kernel'])} kernels, half of them mutations of the solver's own"
        f" schedule, half structured noise; seed {report['seed']}, profile {report['profile']}, TileLang"
        f" {report['versions']['tilelang']}, constraint set {report['constraint_set']}.",
        "",
        "| verdicts | schedules |",
        "|---|---:|",
        f"| both accept | {report['both_accept']:,} |",
        f"| both refuse | {report['both_refuse']:,} |",
        f"| TileLang accepts, we refuse by a named rule | {report['stricter']:,} |",
        f"| we accept, TileLang refuses | {report['laxer']:,} |",
        "",
        "What we refuse and TileLang accepts, by rule (a schedule may break several):",
        "",
        "| rule | schedules |",
        "|---|---:|",
        *(f"| {rule} | {count:,} |" for rule, count in report["stricter_by_rule"].items()),
        "",
        "By kernel:",
        "",
        "| kernel | both accept | both refuse | we are stricter | we are laxer |",
        "|---|---:|---:|---:|---:|",
        *(_row(name, counts) for name, counts in report["by_kernel"].items()),
        "",
    ]
    return "\n".join(lines)


def _row(name: str, counts: dict[str, int]) -> str:
    words = ("both accept", "both refuse", "we are stricter", "we are laxer")
    sums = [sum(count for key, count in counts.items() if key.endswith(word)) for word in words]
    return f"| {name} | " + " | ".join(f"{total:,}" for total in sums) + " |"


if __name__ == "__main__":
    sys.exit(main())
