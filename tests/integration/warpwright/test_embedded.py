"""Tuning with the service in this process, on the stand-in toolchain: results, exit codes, files, interruption."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.render import print_result
from warpwright.cli.tune import exit_code_of_result
from warpwright.client import Client
from warpwright.embedded import embedded_client
from warpwright.kernel_file import KernelFile, KernelVariant
from warpwright.remote import submission_of, tune_there
from warpwright.result import Result
from warpwright.service.jobs.schemas import EventView
from warpwright.service.settings import Settings
from warpwright.solver.domain import Candidate, CandidateKind, Failure, HardwareProfile, Outcome, WarpwrightError
from warpwright.solver.profiles import load_profile
from warpwright.tuning.testing.toolchain import StandInToolchain, stand_in_ir
from warpwright.tuning.toolchain import KernelRead, Patience, StepFailed, Stop

Tuned = Callable[..., Result]


def family(*irs: str) -> KernelFile:
    return KernelFile("toy", tuple(KernelVariant(ir, {"BM": number}) for number, ir in enumerate(irs)))


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, Client]]:
    """Two services in this process: without a device and with one."""
    made: dict[bool, Client] = {}
    for device in (False, True):
        settings = Settings(data=tmp_path_factory.mktemp("data"), slow_artifact_sync=False)
        made[device] = embedded_client(settings, toolchain=StandInToolchain(device=device))
    yield made
    for client in made.values():
        client.close()


@pytest.fixture
def tuned(clients: dict[bool, Client]) -> Tuned:
    def run(*irs: str, device: bool = False, stop: Stop | None = None, events: list[EventView] | None = None) -> Result:
        submission = submission_of(family(*irs), load_profile("h200"), candidates=3, seconds=60.0, fresh=True)
        listen = events.append if events is not None else None
        return tune_there(clients[device], submission, stop=stop, events=listen, poll_seconds=0.05)

    return run


def test_the_best_candidate_comes_first_and_baselines_are_among_them(tuned: Tuned) -> None:
    result = tuned(stand_in_ir(schedules=3))
    assert result.best is not None
    assert result.candidates[0] == result.best
    assert {"scheduled", "default", "role_based", "unspecialized"} == {entry.kind for entry in result.candidates}
    assert result.note == "compiled, not measured"
    assert exit_code_of_result(result) is ExitCode.OK


def test_parameters_of_the_variant_stand_at_the_candidate(tuned: Tuned) -> None:
    result = tuned(stand_in_ir(salt="a"), stand_in_ir(salt="b"))
    assert all(entry.params == {"BM": entry.variant} for entry in result.candidates)


def test_with_a_device_the_answer_is_measured(tuned: Tuned) -> None:
    result = tuned(stand_in_ir(schedules=2), device=True)
    assert result.note == "measured"
    assert result.best is not None
    assert result.best.measured_ns is not None


def test_infeasible_comes_with_the_families(tuned: Tuned) -> None:
    result = tuned(stand_in_ir(infeasible=True))
    assert exit_code_of_result(result) is ExitCode.INFEASIBLE
    assert result.rejected
    assert all(each.family and each.message for entry in result.rejected for each in entry.conflicts)


def test_a_kernel_that_no_schedule_expresses_keeps_its_default(tuned: Tuned) -> None:
    result = tuned(stand_in_ir(refuse="not-applicable"))
    assert exit_code_of_result(result) is ExitCode.NOT_APPLICABLE
    assert result.refused_variants[0].code


def test_foreign_code_is_refused(tuned: Tuned) -> None:
    with pytest.raises(WarpwrightError):
        tuned(stand_in_ir(refuse="foreign-code"))


def test_an_interrupted_tuning_gives_what_it_has(tuned: Tuned) -> None:
    stop = Stop()

    class Interrupting(list[EventView]):
        def append(self, event: EventView) -> None:
            super().append(event)
            if event.kind == "candidate":
                stop.raise_flag("interrupted")

    seen = Interrupting()
    result = tuned(stand_in_ir(schedules=3, seconds=0.3), stop=stop, events=seen)
    assert result.partial
    assert result.stopped_by == "cancelled"
    assert exit_code_of_result(result) is ExitCode.PARTIAL
    assert "skipped" in {entry.outcome for entry in result.candidates}


def test_nothing_built_is_a_code_of_its_own(tuned: Tuned) -> None:
    result = replace(tuned(stand_in_ir(schedules=1)), best=None)
    assert exit_code_of_result(result) is ExitCode.NOTHING_USABLE


def test_the_document_is_json_and_names_its_schema(tuned: Tuned) -> None:
    result = tuned(stand_in_ir(schedules=2))
    document = json.loads(json.dumps(result.to_json()))
    assert document["schema"] == "warpwright.tune-result/1"
    assert document["best"] == document["candidates"][0]["id"]
    scheduled = [entry for entry in document["candidates"] if entry["kind"] == "scheduled"]
    assert all(entry["schedule"]["schema"] == "warpwright.warp-schedule/1" for entry in scheduled)


def test_the_table_shows_every_candidate_and_the_proof(tuned: Tuned, capsys: pytest.CaptureFixture[str]) -> None:
    result = tuned(stand_in_ir(schedules=2))
    print_result(result)
    shown = capsys.readouterr().out
    assert shown.count("compiled") >= len(result.candidates)
    assert "proof: II" in shown
    assert "verified: yes" in shown


def test_names_with_markup_are_printed_as_text(tuned: Tuned, capsys: pytest.CaptureFixture[str]) -> None:
    print_result(replace(tuned(stand_in_ir(schedules=1)), kernel="[red]boo[/red]"))
    assert "[red]boo[/red]" in capsys.readouterr().out


def test_the_folder_holds_everything(tuned: Tuned, tmp_path: Path) -> None:
    from warpwright.output import write_candidates

    result = tuned(stand_in_ir(schedules=1))
    write_candidates(result, tmp_path)
    folders = list((tmp_path / "candidates").iterdir())
    assert len(folders) == len(result.candidates)
    assert all((folder / "candidate.json").is_file() for folder in folders)
    assert json.loads((tmp_path / "result.json").read_text()) == result.to_json()


class ReadsUntilStopped(StandInToolchain):
    """Reading a kernel in a job lasts until somebody stops it, as a child does that is killed then."""

    reads = 0

    def read(self, ir: str, profile: HardwareProfile, patience: Patience) -> KernelRead:
        self.reads += 1
        if self.reads == 1:  # the submission's own, for the kernel's identity
            return super().read(ir, profile, patience)
        patience.stop.event.wait(20.0)
        raise StepFailed(Outcome.SKIPPED, Failure("skipped", ""))


def test_a_tuning_that_is_interrupted_while_the_kernel_is_read_is_nobodys_fault(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, slow_artifact_sync=False)
    stop = Stop()
    with embedded_client(settings, toolchain=ReadsUntilStopped()) as client:
        submission = submission_of(family(stand_in_ir()), load_profile("h200"), seconds=60.0)
        result = tune_there(client, submission, stop=stop, events=lambda event: stop.raise_flag("interrupted"))
        job = client.job(result.job)
        assert (job.state.value, job.error, result.stopped_by) == ("cancelled", None, "cancelled")
        assert exit_code_of_result(result) is ExitCode.INTERRUPTED
        waiting = client.submit(submission).id
        while client.job(waiting).state.value == "queued":
            time.sleep(0.01)
    with embedded_client(replace(settings, job_slots=0), toolchain=ReadsUntilStopped()) as client:
        assert client.job(waiting).state.value == "queued"  # a shutdown blames nobody: it goes on at the next start
        assert "attempts-exhausted" not in client.job(waiting).model_dump_json()


@pytest.mark.parametrize(("stopped_by", "code"), [("budget", ExitCode.UNKNOWN), ("cancelled", ExitCode.INTERRUPTED)])
def test_a_tuning_that_stopped_before_anything_usable_is_no_partial_answer(stopped_by: str, code: ExitCode) -> None:
    skipped = Candidate("c", 0, CandidateKind.DEFAULT, Outcome.SKIPPED)
    result = Result("toy", "h200", "unknown", None, (skipped,), partial=True, stopped_by=stopped_by)
    assert exit_code_of_result(result) is code
    best = replace(skipped, outcome=Outcome.COMPILED)
    assert exit_code_of_result(replace(result, best=best, candidates=(best,))) is ExitCode.PARTIAL
