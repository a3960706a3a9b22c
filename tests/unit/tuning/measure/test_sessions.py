"""Who takes part in a measuring session, what a time that may not win is called, and a session as a task with its files."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from warpwright.lowering.compile.result import to_document
from warpwright.lowering.measure.protocol import GPU_1
from warpwright.lowering.measure.result import Measured
from warpwright.lowering.measure.statistics import summary
from warpwright.lowering.outcome import StepOutcome
from warpwright.lowering.testing.device import MAGIC, simulated_kernel
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.solver.domain import Candidate, CandidateKind, Outcome
from warpwright.solver.profiles import builtin_profile
from warpwright.tuning.children import Limits, Returned
from warpwright.tuning.measure.devices import FoundDevice
from warpwright.tuning.measure.outcomes import outcome_of
from warpwright.tuning.measure.proof import KnownBuild
from warpwright.tuning.measure.worker_session import measure_session
from warpwright.tuning.orchestrate import tune
from warpwright.tuning.request import TuneBudget, TuneRequest, Variant
from warpwright.tuning.task_runner import TaskAnswer
from warpwright.tuning.task_runners.farm import FarmDevices
from warpwright.tuning.testing.on_runner import SIMULATED
from warpwright.tuning.toolchain import Built, BuiltSize, Contestant, Measurement, Patience, StepFailed, Stop


class Watched(StandInToolchain):
    """Remembers who took part in each session."""

    def __init__(self) -> None:
        super().__init__(device=True)
        self.sessions: list[list[str]] = []

    def measure(self, candidates: Any, irs: Any, profile: Any, patience: Any) -> Any:
        self.sessions.append([each.candidate.id for each in candidates])
        yield from super().measure(candidates, irs, profile, patience)


def tuned(tools: StandInToolchain, ir: str, known: Mapping[str, Candidate]) -> list[Candidate]:
    budget = TuneBudget(candidates=8, wall_seconds=30.0)
    request = TuneRequest(name="t", variants=(Variant(ir),), profile=builtin_profile("h200"), budget=budget)
    return list(tune(request, events=lambda event: None, toolchain=tools, known=known.get).candidates)


def test_what_was_measured_before_takes_part_where_the_others_need_it() -> None:
    """An attempt that goes on after its runner died: without the reference the rest would be timed unchecked."""
    ir = new_ir(schedules=4)
    first = {record.id: record for record in tuned(Watched(), ir, {})}
    scheduled = [record for record in first.values() if record.kind is CandidateKind.SCHEDULED]
    lost = scheduled[-1].id
    known = {key: record for key, record in first.items() if key != lost}
    again = Watched()
    records = tuned(again, ir, known)
    assert all(record.outcome is Outcome.MEASURED for record in records)
    fastest = min(scheduled, key=lambda record: record.measured_ns or 0.0)
    baselines = {record.id for record in first.values() if record.kind is not CandidateKind.SCHEDULED}
    assert [set(session) for session in again.sessions] == [{lost, fastest.id, *baselines}]
    nothing_new = Watched()
    tuned(nothing_new, ir, first)
    assert nothing_new.sessions == []


@pytest.mark.parametrize(
    ("flags", "outcome"),
    [
        (("noisy", "contended"), Outcome.CONTENDED),
        (("implausible", "noisy", "contended"), Outcome.CONTENDED),
        (("implausible", "noisy"), Outcome.WRONG_RESULT),
        (("yardstick",), Outcome.REFERENCE_FAILED),
    ],
)
def test_only_an_implausible_time_is_the_candidates_own_fault(flags: tuple[str, ...], outcome: Outcome) -> None:
    measured = Measured("c", GPU_1.name, StepOutcome(Outcome.MEASURED), summary=summary([1.0, 1.1, 1.2]), flags=flags)
    told = outcome_of(measured, KnownBuild("", builtin_profile("h200")))
    assert isinstance(told, StepFailed)
    assert told.outcome is outcome


class Here:
    """A task runner with one worker: this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, task: str, payload: dict[str, Any], limits: Limits, **options: Any) -> TaskAnswer:
        for name, data in options["inputs"].items():
            (self._folder / name).write_bytes(data)
        payload = {**payload, "input": str(self._folder), "device": SIMULATED}
        assert not isinstance(options["cancel"], Stop)
        assert isinstance(options["cancel"], threading.Event)
        return TaskAnswer(Returned(measure_session(payload)))

    def offers(self, capability: str) -> bool:
        return capability == "measure.h200"


def built(name: str, script: bytes) -> Built:
    report = {**to_document(simulated_kernel(name)), "binary": None}
    return Built(report, (), {"binary": MAGIC + script})


def test_a_session_on_a_worker_checks_the_other_sizes_too(tmp_path: Path) -> None:
    runner: Any = Here(tmp_path)
    devices = FarmDevices(runner, [])
    device = devices.for_profile(builtin_profile("h200"))
    assert isinstance(device, FoundDevice)

    def candidate(name: str, kind: CandidateKind, script: bytes, *sizes: BuiltSize) -> Contestant:
        plain = built(name, script)
        return Contestant(Candidate(name, 0, kind, report=plain.report, products=plain.products), 0.0, sizes)

    wrong = BuiltSize("M=8", built("small", b'{"wrong": "corner"}'), built("reference", b"{}"))
    right = BuiltSize("M=9", built("other", b"{}"), built("reference", b"{}"))
    candidates = [
        candidate("base", CandidateKind.UNSPECIALIZED, b'{"ns": 100000}'),
        candidate("good", CandidateKind.SCHEDULED, b'{"ns": 80000}', right),
        candidate("bad", CandidateKind.SCHEDULED, b'{"ns": 70000}', right, wrong),
    ]
    patience = Patience(600.0, 1e12, Stop())
    told = dict(devices.session(device, builtin_profile("h200"), candidates, tmp_path, patience))
    assert isinstance(told["good"], Measurement)
    assert told["good"].nanoseconds == pytest.approx(80_000.0)
    assert isinstance(told["bad"], StepFailed)
    assert told["bad"].outcome is Outcome.WRONG_RESULT
    assert "M=8" in told["bad"].failure.message
