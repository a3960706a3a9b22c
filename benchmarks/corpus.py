"""Kernels of the tests' corpus tuned as a user would: ``python -m benchmarks.corpus --profile h200 --out DIR``.

Each kernel by ``warpwright tune FILE --function NAME``, several at a time; DIR gets ``corpus.json`` and ``corpus.md``. A row
says for each kind of candidate how many were measured, the fastest time, and how many repeated launches of equal inputs agreed
bit by bit. The exit code is 1 when an answer rests on a candidate whose launches differed.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["Row", "main", "table"]

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "integration" / "lowering" / "frontend" / "corpus"
KINDS = ("scheduled", "default", "role_based", "unspecialized")
MODULES = {"z3-solver": "z3"}
RECORDED = ("kind", "outcome", "measured_ns", "failure", "not_honoured")
"""What is kept of each candidate, besides its rounds and what the verifier says of it."""


@dataclass
class Row:
    """One kernel. Times in nanoseconds, launches over all seeds."""

    kernel: str
    exit_code: int
    seconds: float
    best: str = ""
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict)
    fastest_ns: dict[str, float] = field(default_factory=dict)
    launches: int = 0
    agreed: int = 0
    device: dict[str, Any] | None = None
    error: str = ""
    tied: int = 0
    candidates: list[dict[str, Any]] = field(default_factory=list)


def kernels() -> Iterator[tuple[Path, str]]:
    """File and name of each kernel that a warp schedule can express."""
    for path in sorted(CORPUS.glob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "FITTING":
                assert isinstance(node.value, ast.Tuple)
                yield from ((path, element.id) for element in node.value.elts if isinstance(element, ast.Name))


def tune(path: Path, name: str, options: argparse.Namespace, folder: Path) -> Row:
    """One tuning in a process of its own, with a database of its own."""
    command = [sys.executable, "-m", "warpwright", "tune", str(path), "--function", name, "--profile", options.profile]
    command += ["--candidates", str(options.candidates), "--budget", str(options.budget), "--json"]
    began = time.monotonic()
    run = subprocess.run(
        command,
        env=environment(folder / name),
        capture_output=True,
        text=True,
        check=False,
        timeout=20 * options.budget,
    )
    row = Row(name, run.returncode, round(time.monotonic() - began, 1))
    try:
        answer = json.loads(run.stdout)
    except ValueError:
        row.error = (run.stdout + run.stderr)[-400:]
        return row
    return read(row, answer)


def environment(data: Path) -> dict[str, str]:
    """This process's environment with a data folder of the tuning's own."""
    return {**os.environ, "WARPWRIGHT_DATA": str(data)}


def read(row: Row, answer: Mapping[str, Any]) -> Row:
    """A row from an answer of ``tune --json``."""
    row.tied = len(answer.get("tied") or [])
    if "candidates" not in answer:
        row.error = json.dumps(answer)[-400:]
    for candidate in answer.get("candidates", []):
        kind, outcome = candidate["kind"], candidate["outcome"]
        seen = row.outcomes.setdefault(kind, {})
        seen[outcome] = seen.get(outcome, 0) + 1
        measured = candidate.get("measured_ns")
        if measured:
            row.fastest_ns[kind] = min(measured, row.fastest_ns.get(kind, measured))
        refusals = ((candidate.get("report") or {}).get("verifier") or {}).get("violations") or []
        rounds = (candidate.get("measurement") or {}).get("rounds_ns") or []
        row.candidates.append(
            {name: candidate.get(name) for name in RECORDED}
            | {"refused_by": [each["rule"] for each in refusals], "rounds_ns": rounds}
        )
        if candidate["id"] == answer.get("best"):
            row.best = kind
            row.device = (candidate.get("measurement") or {}).get("device")
            for check in (candidate.get("measurement") or {}).get("checks", []):
                row.launches += check["launches"]
                row.agreed += check["agreed"]
    return row


def versions() -> dict[str, str]:
    """What took part, by package; each row has its device and driver."""
    return {
        name: version(name)
        for name in ("tilelang", "torch", "ortools", "z3-solver")
        if find_spec(MODULES.get(name, name))
    }


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown; microseconds."""
    lines = [
        "| kernel | answer | launches that agreed | scheduled | default | role_based | unspecialised |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [f"{row.fastest_ns[k] / 1e3:.1f}" if k in row.fastest_ns else _outcomes(row, k) for k in KINDS]
        agreed = f"{row.agreed} of {row.launches}" if row.launches else "none"
        lines.append(f"| {row.kernel} | {row.best or f'exit {row.exit_code}'} | {agreed} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _outcomes(row: Row, kind: str) -> str:
    return ", ".join(name.replace("_", " ") for name in row.outcomes.get(kind, {})) or "not built"


def main(arguments: Sequence[str] | None = None) -> int:
    """Tunes all kernels, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="h200")
    parser.add_argument("--candidates", type=int, default=5)
    parser.add_argument("--budget", type=int, default=100, help="seconds for each kernel")
    parser.add_argument("--each", type=int, default=5, help="tunings at the same time")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    wanted = [(path, name) for path, name in kernels() if not options.only or name in options.only]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.each) as pool:
        rows = list(pool.map(lambda each: tune(each[0], each[1], options, Path(folder)), wanted))
    asked = {name: getattr(options, name) for name in ("profile", "candidates", "budget", "each")}
    found = {"asked": asked, "versions": versions(), "rows": [asdict(row) for row in rows]}
    (options.out / "corpus.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    (options.out / "corpus.md").write_text(table(rows), "utf-8")
    untrue = [row.kernel for row in rows if row.agreed < row.launches]
    print(json.dumps({"kernels": len(rows), "answered": sum(bool(r.best) for r in rows), "untrue": untrue}))
    return 1 if untrue else 0


if __name__ == "__main__":
    sys.exit(main())
