"""TileLang's own Ascend scheduler against ours, on the same calls in one process run; prints JSON, a table on request.

    python -m benchmarks.ascend [FILE ...] [--generated 20,40,60] [--repeats 3] [--limit 60] [--table]

Without files the calls captured from this repository's kernels are used (``benchmarks/ascend_calls``). A child imports
TileLang and times both schedulers; a TileLang solve past the limit is killed, and its row says so (its ratio is then a
lower bound). The summary gives geometric means over calls that both finished, and over all.
"""

import argparse
import json
import math
import selectors
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.ascend_generated import generated_calls
from warpwright.solver.ascend.scheduler_call import read_calls

CALLS = Path(__file__).parent / "ascend_calls"


class Child:
    """The measuring process; replaced whenever it had to be killed."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def ask(self, request: dict[str, Any], limit: float) -> Iterable[dict[str, Any]]:
        """Rows for one request; the TileLang row is ``{"who": "tilelang", "killed_after": limit}`` past the limit."""
        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, "-m", "benchmarks.ascend_child"]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        wanted = ["ours", "tilelang"] if request["tilelang"] else ["ours"]
        for who in wanted:
            row = self._line(limit * request["repeats"] + (120 if who == "ours" else 0))
            if row is None:
                self.close()
                yield {"who": who, "killed_after": limit}
                return
            yield row

    def _line(self, limit: float) -> dict[str, Any] | None:
        assert self.process is not None
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while selector.select(limit):
                line = self.process.stdout.readline()
                if not line:
                    raise RuntimeError(f"the measuring child ended with code {self.process.wait()}")
                if line.startswith("{"):
                    row: dict[str, Any] = json.loads(line)
                    return row
        return None

    def close(self) -> None:
        """End the child."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    stream.close()
            self.process = None


def measure(calls: list[tuple[str, dict[str, Any]]], repeats: int, limit: float, engine: str) -> list[dict[str, Any]]:
    """One row per call with both schedulers' answers and the ratio of their times."""
    child, rows = Child(), []
    try:
        for name, call in calls:
            request = {"call": call.get("inputs", call), "repeats": repeats, "engine": engine, "tilelang": True}
            found = {row.pop("who"): row for row in child.ask(request, limit)}
            rows.append(_row(name, found["ours"], found["tilelang"]))
            print(json.dumps(rows[-1]), flush=True)
    finally:
        child.close()
    return rows


def _row(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    killed = "killed_after" in theirs
    seconds = theirs["killed_after"] if killed else theirs["seconds"]
    verdict = "killed" if killed else _compare(ours, theirs)
    cpu = seconds if killed else theirs["cpu_seconds"]
    return {
        "call": name,
        "ours": ours,
        "tilelang": theirs,
        "ratio": seconds / ours["seconds"],
        "cpu_ratio": cpu / max(ours["cpu_seconds"], 1e-6),
        "comparison": verdict,
    }


def _compare(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    key = "length" if ours["ii"] is None else "ii"
    if ours[key] != theirs[key]:
        return f"{key} {'shorter' if ours[key] < theirs[key] else 'LONGER'}"
    if ours["bytes"] != theirs["bytes"]:
        return f"equal {key}, {'fewer' if ours['bytes'] < theirs['bytes'] else 'MORE'} bytes"
    return f"equal {key} and bytes"


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Geometric means, the slowest call, and how the answers compare."""
    finished = [row for row in rows if row["comparison"] != "killed"]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["comparison"]] = counts.get(row["comparison"], 0) + 1
    return {
        "calls": len(rows),
        "geometric_mean_ratio": _mean(finished),
        "geometric_mean_cpu_ratio": _mean(finished, "cpu_ratio"),
        "geometric_mean_ratio_with_killed_at_their_limit": _mean(rows),
        "slowest_of_ours_seconds": max(row["ours"]["seconds"] for row in rows),
        "proven": sum(row["ours"]["proven"] for row in rows),
        "comparison": counts,
    }


def _mean(rows: list[dict[str, Any]], key: str = "ratio") -> float | None:
    return math.exp(sum(math.log(row[key]) for row in rows) / len(rows)) if rows else None


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| call | tasks | interval ours / TileLang | bytes ours / TileLang | proven | ms ours | ms TileLang | ratio | CPU |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = row["ours"], row["tilelang"]
        killed = "killed_after" in theirs
        key = "length" if ours["ii"] is None else "ii"
        their_time = f"> {theirs['killed_after'] * 1e3:.0f}" if killed else f"{theirs['seconds'] * 1e3:.1f}"
        lines.append(
            f"| {row['call']} | {ours['tasks']} | {ours[key]} / {'-' if killed else theirs[key]}"
            f" | {ours['bytes']} / {'-' if killed else theirs['bytes']} | {'yes' if ours['proven'] else 'no'}"
            f" | {ours['seconds'] * 1e3:.1f} | {their_time} | {'> ' if killed else ''}{row['ratio']:.0f}"
            f" | {'-' if killed else format(row['cpu_ratio'], '.0f')} |"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 1 when one of our intervals was longer or one of our byte counts higher."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", help="captured scheduler calls; the repository's own by default")
    parser.add_argument("--generated", default="", help="sizes of generated calls, such as 20,40,60")
    parser.add_argument("--seeds", type=int, default=1, help="generated calls per size, offset and memory")
    parser.add_argument("--repeats", type=int, default=3, help="solves per call; the median counts")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a TileLang solve is killed")
    parser.add_argument("--engine", default="exact", help="exact, cpsat or z3")
    parser.add_argument("--table", action="store_true", help="a Markdown table after the JSON")
    options = parser.parse_args(arguments)
    sizes = tuple(int(size) for size in options.generated.split(",") if size)
    files = options.files or ([] if sizes else sorted(CALLS.glob("*.json")))
    calls = [(f"{Path(f).stem} {index}", call) for f in files for index, call in enumerate(read_calls(f))]
    calls += generated_calls(sizes, options.seeds)
    rows = measure(calls, options.repeats, options.limit, options.engine)
    print(json.dumps({"summary": summary(rows)}))
    if options.table:
        print(table(rows))
    worse = [row for row in rows if "LONGER" in row["comparison"] or "MORE" in row["comparison"]]
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
