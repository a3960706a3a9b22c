"""``python -m benchmarks.mutation``: each family's ``check``, then each ``build``, emptied against the unit tests.

A rule whose check can be emptied while all tests pass could disappear without anybody noticing. Each mutation has a process
of its own: ``pytest -p benchmarks.mutation`` reads the mutation from the environment and empties one function of one family.
The family's own test file comes first; only if all of it passes, the other unit tests of its kind are asked (``--whole``: all
of them always, which takes hours on two cores). Prints one JSON object; ``--table`` prints family by face how many tests fail
and which module has most of them. The exit code is 1 when a mutation survives. The short form is part of the normal run: each
family against its own boundaries (``tests/unit/solver/test_mutations.py``).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import pytest

from warpwright.solver.ascend.families import FAMILIES as ASCEND
from warpwright.solver.modulo.families import FAMILIES as MODULO
from warpwright.solver.warp.families import FAMILIES as WARP

__all__ = ["BUILDS_NOTHING", "FACES", "Mutation", "emptied", "main", "mutations", "own_tests"]

ROOT = Path(__file__).resolve().parents[1]
FACES = ("check", "build")
WARP_ROOMS = ("families", "warp", "device", "domain", "engines", "explain")
TESTS = {
    "warp": tuple(f"tests/unit/solver/{room}" for room in WARP_ROOMS),
    "ascend": ("tests/unit/solver/ascend",),
    "modulo": ("tests/unit/solver/modulo",),
}
TEST_SECONDS = 60
"""A test that takes longer fails: without a rule a search may find no end."""
SHORT_FORM = "tests/unit/solver/test_mutations.py"
BUILDS_NOTHING = {"deadlock", "proxy_fences"}
"""Families whose ``build`` is empty by design: other constraints, or the decoder, enforce the rule."""
MUTATION, REPORT = "WARPWRIGHT_TEST_MUTATION", "WARPWRIGHT_TEST_MUTATION_REPORT"


@dataclass(frozen=True, order=True)
class Mutation:
    """One function of one family."""

    kind: str
    family: str
    face: str


FAMILIES: dict[str, tuple[ModuleType, ...]] = {
    kind: tuple(sys.modules[family.build.__module__] for family in families)
    for kind, families in (("warp", WARP), ("ascend", ASCEND), ("modulo", MODULO))
}
"""Families are modules, whatever kind of problem they are about."""


def _by_name(kind: str) -> dict[str, ModuleType]:
    return {str(module.NAME): module for module in FAMILIES[kind]}


def mutations() -> list[Mutation]:
    """All of them, families in their order."""
    return [
        Mutation(kind, name, face)
        for kind in TESTS
        for name in _by_name(kind)
        for face in FACES
        if (name, face) not in {(empty, "build") for empty in BUILDS_NOTHING}
    ]


@contextmanager
def emptied(mutation: Mutation) -> Iterator[None]:
    """Inside this context, the function finds no violation, or adds no constraint."""
    family = _by_name(mutation.kind)[mutation.family]
    true: Callable[..., object] = getattr(family, mutation.face)
    nothing: object = None if mutation.face == "build" else ()

    def empty(*arguments: object) -> object:
        del arguments
        return nothing

    setattr(family, mutation.face, empty)
    try:
        yield
    finally:
        setattr(family, mutation.face, true)


def pytest_configure(config: pytest.Config) -> None:
    """Empties the function that the environment names, for this whole process, and collects what fails."""
    if MUTATION not in os.environ:
        return
    whole_run = ExitStack()
    whole_run.enter_context(emptied(Mutation(*os.environ[MUTATION].split(":"))))
    config.add_cleanup(whole_run.close)
    config.pluginmanager.register(_Collector(), "mutation-collector")


class _Collector:
    """Counts tests and notes those that fail."""

    def __init__(self) -> None:
        self.ran = 0
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of one test."""
        self.ran += report.when == "call"
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot even be imported."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Report to the parent."""
        Path(os.environ[REPORT]).write_text(json.dumps({"tests": self.ran, "failed": self.failed}))


@dataclass(frozen=True)
class Outcome:
    """What the tests found for one mutation."""

    kind: str
    family: str
    face: str
    tests: int
    failed: tuple[str, ...]
    seconds: float

    @property
    def survived(self) -> bool:
        """No test failed."""
        return not self.failed


def own_tests(mutation: Mutation) -> str:
    """The test file of the mutation's family, which is called by the module that holds the family."""
    room = {"warp": "families", "ascend": "ascend/families", "modulo": "modulo/families"}[mutation.kind]
    module = _by_name(mutation.kind)[mutation.family].__name__.rpartition(".")[2]
    return f"tests/unit/solver/{room}/test_{module}.py"


def run_own_first(mutation: Mutation) -> Outcome:
    """The family's own tests; all unit tests of its kind if those notice nothing."""
    own = run(mutation, [own_tests(mutation)])
    return run(mutation, TESTS[mutation.kind]) if own.survived else own


def run(mutation: Mutation, paths: Sequence[str]) -> Outcome:
    """The tests under one mutation, in a process of their own.

    Raises:
        RuntimeError: the tests could not be run at all.
    """
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        environment = {**os.environ, MUTATION: ":".join(asdict(mutation).values()), REPORT: str(report)}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "benchmarks.mutation",
            "-p",
            "no:randomly",
            "-n",
            "0",
            "--tb=no",
        ]
        command += [f"--ignore={SHORT_FORM}", *paths]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if not report.exists():
            raise RuntimeError(f"{mutation}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        told = json.loads(report.read_text())
    return Outcome(
        **asdict(mutation), tests=told["tests"], failed=tuple(told["failed"]), seconds=time.monotonic() - begun
    )


def document(outcomes: Sequence[Outcome]) -> str:
    """One JSON object: survivors, and every mutation with the tests that fail."""
    survivors = [f"{o.kind}:{o.family}:{o.face}" for o in outcomes if o.survived]
    return json.dumps({"survivors": survivors, "mutations": [asdict(outcome) for outcome in outcomes]}, indent=1)


def table(outcomes: Sequence[Outcome]) -> str:
    """Markdown: one row per family, with the failures of both faces."""
    rows = ["| kind | family | check emptied: tests that fail | build emptied: tests that fail |", "|---|---|---|---|"]
    for kind, family in dict.fromkeys((o.kind, o.family) for o in outcomes):
        faces = {o.face: o for o in outcomes if (o.kind, o.family) == (kind, family)}
        cells = [_cell(faces.get(face), empty=face == "build" and family in BUILDS_NOTHING) for face in FACES]
        rows.append(f"| {kind} | {family} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(outcome: Outcome | None, *, empty: bool) -> str:
    if outcome is None:
        return "builds nothing" if empty else "not run"
    if outcome.survived:
        return f"**none of {outcome.tests}**"
    files = Counter(Path(node.partition("::")[0]).name for node in outcome.failed)
    return f"{len(outcome.failed)} of {outcome.tests}: " + ", ".join(f"{name} {n}" for name, n in files.most_common(4))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the chosen mutations; 1 when one survives."""
    parser = argparse.ArgumentParser(prog="benchmarks.mutation", description=__doc__)
    parser.add_argument("--kind", choices=tuple(TESTS), action="append")
    parser.add_argument("--family", action="append")
    parser.add_argument("--face", choices=FACES, action="append")
    parser.add_argument("--tests", action="append", help="run these instead of the unit tests of the kind")
    parser.add_argument(
        "--whole", action="store_true", help="run all unit tests of the kind, not the family's own first"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="also write the JSON here, after every mutation")
    parser.add_argument("--table", action="store_true", help="a Markdown table instead of JSON")
    options = parser.parse_args(arguments)
    chosen = [
        each
        for each in mutations()
        if (not options.kind or each.kind in options.kind)
        and (not options.family or each.family in options.family)
        and (not options.face or each.face in options.face)
    ]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        whole = options.whole or options.tests
        running = [
            pool.submit(run, each, options.tests or TESTS[each.kind]) if whole else pool.submit(run_own_first, each)
            for each in chosen
        ]
        for each, future in zip(chosen, running, strict=True):
            outcomes.append(future.result())
            print(
                f"{each.kind} {each.family} {each.face}: {len(outcomes[-1].failed)} fail", file=sys.stderr, flush=True
            )
            if options.out:
                options.out.write_text(document(outcomes) + "\n")
    print(table(outcomes) if options.table else document(outcomes))
    return 1 if any(outcome.survived for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
