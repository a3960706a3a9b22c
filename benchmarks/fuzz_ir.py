"""``python -m benchmarks.fuzz_ir``: damaged IR documents, by the hundred thousand, against the frontend.

Every document must end as a graph or as a typed error. The check runs in this process and must never raise anything else; what
passes it goes to a warm child, where TVM may fail in any way: a crash there is counted by its kind, and the next document
goes to a new child. The documents come from all kernels of the tests' corpus; the shorter a kernel takes to read, the more
often it is damaged, because the large ones are mostly made of the small ones' parts.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.damage import Graph, damaged
from warpwright.lowering.frontend.irhash import hash_document
from warpwright.lowering.frontend.precheck import precheck
from warpwright.solver.domain import WarpwrightError, digest_text, dump
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import (
    ChildPool,
    Crashed,
    Limits,
    OutOfMemory,
    OutputExceeded,
    Refused,
    Reply,
    Returned,
    TimedOut,
)

__all__ = ["GOLDEN", "judge", "main"]

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "ir"
BUILDER = ROOT / "tests" / "integration" / "frontend" / "build_corpus.py"
LIMITS = Limits(wall_seconds=20, memory_bytes=4 << 30)
WRITE_EVERY = 1000
SHORT_SECONDS = 0.02
"""Kernels that are read in less time get equal shares."""
REFUSED_SHARE = 0.5
BAD = ("UNTYPED", "child ended")


def judge(pool: ChildPool, profile: Graph, text: str) -> str:
    """What became of one document: ``graph``, an error's code, or how the child ended."""
    try:
        hash_document(precheck(text))
    except WarpwrightError as error:
        return f"refused here: {error.code}"
    except Exception as error:  # noqa: BLE001 - this is what the fuzzer looks for
        return f"UNTYPED here: {type(error).__name__}"
    return _word(pool.run("frontend.read", {"ir": text, "profile": profile}, LIMITS))


def _word(reply: Reply) -> str:
    match reply:
        case Returned():
            return "graph"
        case Refused(code=code):
            return f"refused in the child: {code}"
        case Crashed(signal=None, exit_code=code):
            return f"child ended: exit code {code}"
        case Crashed(signal=number):
            return f"child ended: signal {number}"
        case TimedOut(clock=clock):
            return f"child ended: {clock} time"
        case OutOfMemory() | OutputExceeded():
            return f"child ended: {type(reply).__name__}"
        case _:
            return f"UNTYPED: {reply}"


class Campaign:
    """A stream of damaged documents over several kernels, judged by as many threads as there are children."""

    def __init__(self, graphs: Mapping[str, Graph], shares: Mapping[str, float], seed: int, keep: Path | None) -> None:
        self.counts = Counter[str]()
        self.documents = Counter[str]()
        self._names = list(graphs)
        self._weights = [shares[name] for name in self._names]
        # One seed per kernel: variants of one kernel would be damaged alike.
        self._streams = {name: damaged(graphs[name], seed * 1000 + n) for n, name in enumerate(self._names)}
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._keep = keep

    def next(self) -> tuple[str, str]:
        """A kernel's name and one damaged document of it."""
        with self._lock:
            name = self._random.choices(self._names, self._weights)[0]
            return name, next(self._streams[name])

    def note(self, name: str, text: str, word: str) -> int:
        """Count one judgement; the number of documents so far. Documents that ended badly are kept."""
        with self._lock:
            self.counts[word] += 1
            self.documents[name] += 1
            done = self.counts.total()
        if self._keep is not None and word.startswith(BAD):
            self._keep.mkdir(parents=True, exist_ok=True)
            (self._keep / f"{digest_text(text)[-12:]}.json").write_text(json.dumps({"word": word, "ir": text}))
        return done


def main() -> int:
    """Judge ``--count`` documents; exit code 1 when one ended in something untyped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--children", type=int, default=1)
    parser.add_argument("--golden", action="store_true", help="the small golden document only, nothing is built")
    parser.add_argument("--out", type=Path, help="the report, rewritten as the run goes on")
    parser.add_argument("--keep", type=Path, help="folder for documents that ended a child or in something untyped")
    arguments = parser.parse_args()
    profile, started = dump(load_profile("h200")), time.monotonic()
    graphs = _golden() if arguments.golden else _corpus()
    with ChildPool(arguments.children, warm_task="frontend.read", tasks_per_child=2000) as pool:
        campaign = Campaign(graphs, _shares(pool, profile, graphs), arguments.seed, arguments.keep)

        def one(_: int) -> None:
            name, text = campaign.next()
            done = campaign.note(name, text, judge(pool, profile, text))
            if done % WRITE_EVERY == 0:
                print(f"{done} of {arguments.count}", file=sys.stderr, flush=True)
                _write(arguments.out, _report(campaign, started))

        with ThreadPoolExecutor(arguments.children) as threads:
            # The pool's own queue would hold all futures; blocks keep it short.
            for block in _blocks(arguments.count, 10 * WRITE_EVERY):
                list(threads.map(one, block))
    report = _report(campaign, started)
    _write(arguments.out, report)
    print(json.dumps(report, indent=1))
    return 1 if report["untyped"] else 0


def _blocks(count: int, size: int) -> Iterator[range]:
    return (range(start, min(start + size, count)) for start in range(0, count, size))


def _report(campaign: Campaign, started: float) -> dict[str, Any]:
    counts = campaign.counts.copy()

    def total(start: str) -> int:
        return sum(count for word, count in counts.items() if word.startswith(start))

    return {
        "documents": counts.total(),
        "untyped": total("UNTYPED"),
        "children_ended": total("child ended"),
        "refused_before_a_child": total("refused here"),
        "refused_in_a_child": total("refused in the child"),
        "graphs": counts["graph"],
        "seconds": round(time.monotonic() - started),
        "answers": dict(counts.most_common()),
        "kernels": dict(campaign.documents.most_common()),
    }


def _write(path: Path | None, report: dict[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(report, indent=1) + "\n")


def _golden() -> dict[str, Graph]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(GOLDEN.glob("*.json"))}


def _corpus() -> dict[str, Graph]:
    """The kernels of the tests' corpus, built by a child process of their own."""
    with tempfile.TemporaryDirectory(prefix="warpwright-fuzz-") as folder:
        subprocess.run([sys.executable, str(BUILDER), folder], check=True, timeout=600, stdout=sys.stderr)
        return {path.stem: json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))}


def _shares(pool: ChildPool, profile: Graph, graphs: Mapping[str, Graph]) -> dict[str, float]:
    """Each kernel's share: by the inverse square of the time that it takes intact, so the slow tenth does not take it all.

    Kernels that are refused intact take the child a tenth of the time; all of them together get :data:`REFUSED_SHARE`.
    """
    read, refused = dict[str, float](), set[str]()
    # The first one twice: a fresh child's first reading takes longer.
    for name, graph in (next(iter(graphs.items())), *graphs.items()):
        begun = time.monotonic()
        if judge(pool, profile, json.dumps(graph)) == "graph":
            read[name] = max(time.monotonic() - begun, SHORT_SECONDS) ** -2
        else:
            refused.add(name)
    rest = sum(read.values()) * REFUSED_SHARE / (1 - REFUSED_SHARE)
    return read | {name: rest / len(refused) for name in refused}


if __name__ == "__main__":
    sys.exit(main())
