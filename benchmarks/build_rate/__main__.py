"""How many of the candidates that are proposed for public kernels build: ``python -m benchmarks.build_rate CHECKOUT --out DIR``.

CHECKOUT is a TileLang repository, or any folder with programs below ``examples/``. Each program's kernels are recorded without a
device (:mod:`benchmarks.build_rate.capture`). For each kernel that reads, candidates are proposed as for a tuning, written into
the kernel and lowered by TileLang; ``--nvcc`` compiles them, too. DIR gets ``build_rate.json`` and ``build_rate.md``. The work
folder keeps the recorded kernels and the rows, so a run that was stopped goes on where it was. Nothing of the
checkout is kept but names.

The exit code is 1 if less than 98 % of the candidates build.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from warpwright.solver.domain import HardwareProfile, Pins, Proposals, dump, load
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import CONSTRAINT_SET
from warpwright.tuning.children import ChildPool, Limits, Refused, Reply, Returned

__all__ = ["Row", "main", "table"]

ROOT = Path(__file__).resolve().parents[2]
LEAST_PERCENT = 98.0
LIMITS = Limits(wall_seconds=600.0, cpu_seconds=1200.0, memory_bytes=8 << 30)
CAPTURE_SECONDS = 120
SKIPPED = ("test_", "regression", "conftest", "__init__", "triton", "sm100", "sm120", "tcgen05", "amd", "cdna4")
"""Parts of names of programs that are no programs, or that are for other devices than the H200."""
WORK_LIMIT, SOLVE_SECONDS = 2_000, 60.0
MESSAGE_CHARACTERS = 200


@dataclass
class Row:
    """One kernel. ``refused`` is the code with which reading refused it; ``failures`` has the reason of each failed candidate."""

    program: str
    kernel: str
    parameters: dict[str, Any]
    refused: str = ""
    proposed: int = 0
    built: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Builder:
    """The children that read, propose and build."""

    def __init__(self, compilers: ChildPool, solvers: ChildPool, options: argparse.Namespace, work: Path) -> None:
        self._compilers, self._solvers, self._options, self._work = compilers, solvers, options, work
        self._profile: HardwareProfile = load_profile(options.profile)

    def row(self, program: str, recorded: dict[str, Any], ir: str) -> Row:
        """Propose candidates for one kernel and build each."""
        began, row = time.monotonic(), Row(program, recorded["name"], recorded["parameters"])
        read = self._compilers.run("frontend.read", {"ir": ir, "profile": dump(self._profile)}, LIMITS)
        if isinstance(read, Returned):
            proposals = self._proposed(read.value)
            row.proposed = len(proposals.candidates)
            for candidate in proposals.candidates:
                failure = self._failure(ir, dump(candidate.schedule))
                row.failures += [failure] if failure else []
            row.built = row.proposed - len(row.failures)
        else:
            row.refused = read.code if isinstance(read, Refused) else _words(read)
        row.seconds = round(time.monotonic() - began, 1)
        return row

    def _proposed(self, read: dict[str, Any]) -> Proposals:
        payload = {
            "kernels": [{"variant": 0, "params": {}, "graph": read["graph"], "ir_hash": read["ir_hash"]}],
            "profile": dump(self._profile),
            "pins": dump(Pins()),
            "count": self._options.candidates,
            "engine": "cpsat",
            "seed": 0,
            "work_limit": WORK_LIMIT,
            "wall_seconds": SOLVE_SECONDS,
        }
        reply = self._solvers.run("propose.warp", payload, LIMITS)
        if not isinstance(reply, Returned):
            raise RuntimeError(_words(reply))
        found: Proposals = load(Proposals, reply.value["proposals"])
        return found

    def _failure(self, ir: str, schedule: dict[str, Any]) -> str:
        """Why a candidate does not build; empty if it does."""
        made = self._compilers.run("materialize.warp", {"ir": ir, "schedule": schedule}, LIMITS)
        if not isinstance(made, Returned):
            return f"materialize: {_words(made)}"
        payload = {
            "ir": made.value["ir"],
            "arch": self._profile.arch,
            "variant": "scheduled",
            "schedule": schedule,
            "profile": dump(self._profile),
            "source_only": not self._options.nvcc,
            "output": str(self._work / "builds"),
        }
        built = self._compilers.run("compile.cuda", payload, LIMITS)
        if not isinstance(built, Returned):
            return f"compile: {_words(built)}"
        outcome = built.value["outcome"]
        return "" if outcome["kind"] == "compiled" else f"{outcome['kind']}: {_message(outcome.get('message') or '')}"


def _words(reply: Reply) -> str:
    return f"{type(reply).__name__} {getattr(reply, 'code', '')} {_message(getattr(reply, 'message', ''))}"


def _message(text: str) -> str:
    return " ".join(text.split())[:MESSAGE_CHARACTERS]


def programs(checkout: Path, wanted: Sequence[str]) -> list[str]:
    """Names of the programs below ``examples/``, those that contain one of ``wanted`` if any are given."""
    names = [path.relative_to(checkout).as_posix() for path in sorted((checkout / "examples").rglob("*.py"))]
    named = [name for name in names if not any(part in name for part in SKIPPED)]
    return [name for name in named if not wanted or any(part in name for part in wanted)]


def recorded(checkout: Path, program: str, work: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The kernels of a program with their IR."""
    folder = work / "kernels" / program.removesuffix(".py").replace("/", "_")
    if not (folder / "kernels.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "benchmarks.build_rate.capture",
            str((checkout / program).resolve()),
            str(folder.resolve()),
        ]
        try:
            # The program's own files, such as the tuner's log, stay in the work folder.
            paths = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
            environment = {**os.environ, "PYTHONPATH": paths}
            subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=CAPTURE_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return
    if (folder / "kernels.json").is_file():
        for kernel in json.loads((folder / "kernels.json").read_text())["kernels"]:
            yield kernel, (folder / kernel["file"]).read_text()


def table(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    asked, total = report["asked"], report["total"]
    how = "lowered by TileLang and compiled by nvcc" if asked["nvcc"] else "lowered by TileLang"
    lines = [
        "# Build rate of proposed candidates over public kernels",
        "",
        f"{report['repository']} at {report['commit']}, profile {asked['profile']}, up to {asked['candidates']} candidates a "
        f"kernel, each written into the kernel and {how}. TileLang {report['versions']['tilelang']}, constraint set "
        f"{report['versions']['constraint_set']}. `{report['command']}`",
        "",
        f"**{total['built']:,} of {total['proposed']:,} candidates build ({total['percent']:.1f} %)**, over {total['kernels']} "
        f"kernels with candidates; {total['refused']} more kernels are refused when they are read.",
        "",
        "| program | kernel | candidates | build | seconds | reasons |",
        "|---|---|---:|---:|---:|---|",
    ]
    for row in report["rows"]:
        if not row["refused"]:
            reasons = "; ".join(f"{count} x {why}" for why, count in Counter(row["failures"]).items()).replace("|", "/")
            numbers = f"{row['proposed']} | {row['built']} | {row['seconds']:.0f}"
            lines.append(f"| {row['program']} | {row['kernel']} | {numbers} | {reasons} |")
    lines += ["", "Refused when read, by code:", "", "| code | kernels |", "|---|---:|"]
    codes = Counter(row["refused"] for row in report["rows"] if row["refused"])
    lines += [f"| {code} | {count} |" for code, count in codes.most_common()]
    return "\n".join(lines) + "\n"


def _report(rows: Sequence[Row], options: argparse.Namespace) -> dict[str, Any]:
    proposed, built = sum(row.proposed for row in rows), sum(row.built for row in rows)
    git = ["git", "-C", str(options.checkout), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    asked = {name: getattr(options, name) for name in ("profile", "candidates", "nvcc", "only")}
    told = [f"--candidates {options.candidates}", *(["--nvcc"] if options.nvcc else [])]
    return {
        "repository": options.checkout.resolve().name,
        "commit": commit or "unknown",
        "command": " ".join(["python -m benchmarks.build_rate CHECKOUT --work WORK --out docs/results", *told]),
        "asked": asked,
        "versions": {"tilelang": version("tilelang"), "constraint_set": CONSTRAINT_SET},
        "total": {
            "kernels": sum(bool(row.proposed) for row in rows),
            "refused": sum(bool(row.refused) for row in rows),
            "proposed": proposed,
            "built": built,
            "percent": 100.0 * built / proposed if proposed else 0.0,
        },
        "failures": dict(Counter(failure for row in rows for failure in row.failures).most_common()),
        "rows": [asdict(row) for row in rows],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, propose, build, count."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.build_rate", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of the programs that are wanted")
    parser.add_argument("--profile", default="h200")
    parser.add_argument("--candidates", type=int, default=8, help="candidates for each kernel")
    parser.add_argument("--nvcc", action="store_true", help="compile what TileLang lowered")
    parser.add_argument("--work", type=Path, required=True, help="folder for recorded kernels, rows and binaries")
    parser.add_argument("--minutes", type=float, default=600.0, help="no new kernel is begun after this time")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    until = time.monotonic() + 60 * options.minutes
    options.work.mkdir(parents=True, exist_ok=True)
    kept = options.work / "rows.jsonl"
    lines = kept.read_text().splitlines() if kept.is_file() else []
    rows = {(row.program, row.kernel, json.dumps(row.parameters)): row for row in (Row(**json.loads(x)) for x in lines)}
    pools = (ChildPool(1, warm_task="frontend.read"), ChildPool(1, warm_task="propose.warp"))
    with pools[0] as compilers, pools[1] as solvers:
        builder = Builder(compilers, solvers, options, options.work)
        for program in programs(options.checkout, options.only):
            if time.monotonic() > until:
                break
            for kernel, ir in recorded(options.checkout, program, options.work):
                key = (program, kernel["name"], json.dumps(kernel["parameters"]))
                if key in rows:
                    continue
                rows[key] = row = builder.row(program, kernel, ir)
                with kept.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
                print(f"{program} {row.kernel}: {row.refused or f'{row.built} of {row.proposed}'}", file=sys.stderr)
    report = _report(list(rows.values()), options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "build_rate.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.out / "build_rate.md").write_text(table(report))
    print(json.dumps({"total": report["total"], "failures": report["failures"]}))
    return int(report["total"]["percent"] < LEAST_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
