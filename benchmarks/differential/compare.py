"""Puts schedules to our verifier and to TileLang, and sorts the answers. The parent side: no TileLang here."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.differential.generate import mutations, noise
from warpwright.solver.domain import Feasible, HardwareProfile, KernelGraph, ProvenOptimal, WarpSchedule, dump, load
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import violations
from warpwright.tuning.children import ChildPool, Limits, Returned

__all__ = ["KERNEL_NAMES", "Case", "Outcome", "Tally", "TileLang", "compare", "prepare"]

KERNEL_NAMES = ("gemm", "two_products", "persistent", "scheduler", "through_registers", "straight_line")
CHUNK = 25
ROOT_FOLDER = Path(__file__).resolve().parents[2]


class TileLang:
    """The child with TileLang, started again when it dies; a schedule that kills it is tried again alone and counted."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The child's answer, None when the request killed it."""
        if self._process is None:
            command = [sys.executable, "-m", "benchmarks.differential.child"]
            pipe = subprocess.PIPE
            options: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "stderr": subprocess.DEVNULL, "text": True}
            self._process = subprocess.Popen(command, cwd=ROOT_FOLDER, **options)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.close()
        return None

    def close(self) -> None:
        """End the child."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel of the comparison: IR, closed problem, and a schedule that the solver found."""

    name: str
    ir: str
    arch: str
    problem: WarpProblem
    graph: KernelGraph
    legal: WarpSchedule


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both verdicts on one schedule: our rules that it breaks, TileLang's reason, None when it accepts."""

    kernel: str
    kind: str
    number: int
    schedule: WarpSchedule
    rules: tuple[str, ...]
    refusal: str | None


@dataclass(slots=True)
class Tally:
    """Counts of a comparison, with every disagreement of the forbidden kind in full."""

    both_accept: int = 0
    both_refuse: int = 0
    stricter: Counter[str] = field(default_factory=Counter)
    """Accepted by TileLang and refused by us, by the rules that refuse them."""
    refusals: Counter[str] = field(default_factory=Counter)
    by_kernel: dict[str, Counter[str]] = field(default_factory=dict)
    laxer: list[Outcome] = field(default_factory=list)
    """Accepted by us and refused by TileLang: must stay empty."""
    nameless: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        ours, theirs = not outcome.rules, outcome.refusal is None
        key = {(True, True): "both accept", (False, False): "both refuse", (False, True): "we are stricter"}
        word = key.get((ours, theirs), "we are laxer")
        self.by_kernel.setdefault(outcome.kernel, Counter())[f"{outcome.kind}: {word}"] += 1
        if ours and theirs:
            self.both_accept += 1
        elif not ours and not theirs:
            self.both_refuse += 1
        elif theirs:
            self.stricter.update(set(outcome.rules))
            if not all("/" in rule for rule in outcome.rules):
                self.nameless.append(outcome)
        else:
            self.laxer.append(outcome)
        if outcome.refusal is not None:
            self.refusals[_kind_of(outcome.refusal)] += 1


def prepare(pool: ChildPool, tilelang: TileLang, name: str, profile: HardwareProfile) -> Case:
    """Build, read and solve one kernel.

    Raises:
        RuntimeError: a step that must work did not.
    """
    built = tilelang.ask({"build": name, "arch": profile.arch})
    if built is None:
        raise RuntimeError(f"the kernel {name} could not be built")
    payload = {"ir": built["ir"], "profile": dump(profile)}
    reply = pool.run("frontend.read", payload, Limits(wall_seconds=120))
    if not isinstance(reply, Returned):
        raise RuntimeError(f"the kernel {name} could not be read: {reply}")
    graph: KernelGraph = load(KernelGraph, reply.value["graph"])
    problem = close_problem(graph, profile)
    verdict = solve(problem)
    if not isinstance(verdict, (ProvenOptimal, Feasible)) or not isinstance(verdict.schedule, WarpSchedule):
        raise RuntimeError(f"the kernel {name} has no schedule: {verdict}")
    return Case(name, built["ir"], profile.arch, problem, graph, verdict.schedule)


def schedules_of(case: Case, count: int, seed: int) -> Iterator[tuple[str, int, WarpSchedule]]:
    """Half mutations of the solver's schedule (which comes first itself), half noise."""
    yield "mutation", 0, case.legal
    changed = mutations(case.graph, case.legal, seed)
    for number, schedule in enumerate(islice(changed, count - count // 2 - 1), start=1):
        yield "mutation", number, schedule
    for number, schedule in enumerate(islice(noise(case.graph, seed), count // 2)):
        yield "noise", number, schedule


def compare(
    case: Case, tilelang: TileLang, count: int, seed: int, *, progress: Callable[[int], None] = lambda done: None
) -> Iterator[Outcome]:
    """Both verdicts on ``count`` schedules of one kernel."""
    stream = schedules_of(case, count, seed)
    done = 0
    while chunk := list(islice(stream, CHUNK)):
        for (kind, number, schedule), refusal in zip(chunk, _refusals(case, tilelang, chunk), strict=True):
            rules = tuple(f"{v.family}/{v.rule}" for v in violations(case.problem, schedule))
            yield Outcome(case.name, kind, number, schedule, rules, refusal)
        done += len(chunk)
        progress(done)


def _refusals(case: Case, tilelang: TileLang, chunk: list[tuple[str, int, WarpSchedule]]) -> list[str | None]:
    request = {"kernel": case.name, "ir": case.ir, "arch": case.arch}
    answer = tilelang.ask({**request, "schedules": [dump(schedule) for _, _, schedule in chunk]})
    if answer is not None:
        return list(answer["refusals"])
    if len(chunk) == 1:
        return ["the compiler's process died"]
    return [refusal for part in chunk for refusal in _refusals(case, tilelang, [part])]


def _kind_of(reason: str) -> str:
    """A reason without the names and numbers of its case."""
    words = [word for word in reason.split() if word.isalpha() or word in ("'s",)]
    return " ".join(words)[:90] or reason[:60]
