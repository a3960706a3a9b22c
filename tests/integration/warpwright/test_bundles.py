"""Bundles from the command line: packed from a result, measured on a simulated device, and what must be there is there."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.integration.warpwright.installed import Installed
from warpwright.bundles import contents_of
from warpwright.cli.bundle import run_measure
from warpwright.cli.exit_codes import ExitCode
from warpwright.client import Client
from warpwright.errors import ServerError
from warpwright.kernel_file import KernelFile, KernelVariant
from warpwright.lowering.compile.result import to_document
from warpwright.lowering.measure.runner import MeasureJob
from warpwright.lowering.testing.device import simulated_kernel
from warpwright.remote import submission_of
from warpwright.result import Result
from warpwright.service.settings import Settings
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import Candidate, CandidateKind, Outcome
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.solver.profiles import load_profile
from warpwright.tuning.bundle import Contents, pack, write_results
from warpwright.tuning.measure.session import measure_all
from warpwright.tuning.testing.toolchain import StandInToolchain, stand_in_ir

SCRIPT = {
    "kind": "simulated",
    "kernels": {"fast": {"ns": 80_000}, "slow": {"ns": 120_000}, "reference": {"ns": 150_000}},
}


def candidate(kind: CandidateKind, *, binary: bytes = b"\x7fELF") -> Candidate:
    report = {
        key: value for key, value in to_document(simulated_kernel(kind)).items() if key not in ("source", "binary")
    }
    products = {"binary": binary} if binary else {}
    return Candidate(f"cand_{kind}", 0, kind, Outcome.COMPILED, report=report, products=products)


def result(*candidates: Candidate) -> Result:
    return Result("gemm", "h200", "tuned", candidates[0], candidates, job="job_1")


def test_the_unspecialized_build_is_the_reference_of_all(tmp_path: Path) -> None:
    contents = contents_of(
        result(
            candidate(CandidateKind.SCHEDULED), candidate(CandidateKind.DEFAULT), candidate(CandidateKind.UNSPECIALIZED)
        ),
        tmp_path,
    )
    assert [job.candidate for job in contents.jobs] == ["cand_unspecialized", "cand_default", "cand_scheduled"]
    references = {job.reference.launch.kernel for job in contents.jobs if job.reference and job.reference.launch}
    assert references == {"unspecialized"}
    assert contents.always_final == contents.baselines == ("cand_unspecialized", "cand_default")
    assert contents.preference == ("cand_default", "cand_unspecialized", "cand_scheduled"), (
        "a tie is decided as in a session of a connected worker"
    )


def test_a_candidate_without_a_binary_stays_at_home(tmp_path: Path) -> None:
    contents = contents_of(
        result(candidate(CandidateKind.SCHEDULED, binary=b""), candidate(CandidateKind.UNSPECIALIZED)), tmp_path
    )
    assert [job.candidate for job in contents.jobs] == ["cand_unspecialized"]


def test_without_a_reference_nothing_is_packed(tmp_path: Path) -> None:
    with pytest.raises(WarpwrightError, match="unspecialized build is missing"):
        contents_of(result(candidate(CandidateKind.SCHEDULED)), tmp_path)
    with pytest.raises(WarpwrightError, match="no candidate"):
        contents_of(result(candidate(CandidateKind.SCHEDULED, binary=b"")), tmp_path)


def toy_bundle(file: Path) -> None:
    """Two candidates for the simulated device."""
    reference = simulated_kernel("reference")
    jobs = tuple(MeasureJob(name, simulated_kernel(name), reference) for name in ("fast", "slow"))
    pack(file, Contents(jobs=jobs, origin="job_1", profile="h200"))


@pytest.mark.parametrize("device", ["0", "simulated"])
def test_a_machine_that_cannot_measure_says_what_it_lacks(tmp_path: Path, device: str) -> None:
    base = Installed(tmp_path)
    toy_bundle(base.home / "b.tar")
    done = base.warpwright("measure", "b.tar", "--device", device)
    assert done.returncode == ExitCode.MISSING, done.stderr
    assert "pip install 'warpwright[kernels]'" in done.stderr
    assert not (base.home / "results.json").exists()


def test_measure_writes_results_with_a_winner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_bundle(tmp_path / "b.tar")
    monkeypatch.setattr("warpwright.cli.bundle._device", lambda text: SCRIPT)
    assert run_measure(tmp_path / "b.tar", tmp_path / "results.json", "simulated", 60.0) is ExitCode.OK
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["schema"] == "warpwright.bundle-results/1"
    assert document["verdict"]["winner"] == "fast"
    assert "winner fast" in capsys.readouterr().out


def test_a_device_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(WarpwrightError, match="not a device"):
        run_measure(tmp_path / "b.tar", tmp_path / "r.json", "tpu:0", 1.0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    settings = Settings(data=tmp_path_factory.mktemp("data"), slow_artifact_sync=False)
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running


def results_of(candidates: dict[str, float]) -> dict[str, Any]:
    """A results document of the simulated device, times in nanoseconds by candidate."""
    script = {"kind": "simulated", "kernels": {name: {"ns": ns} for name, ns in candidates.items()}}
    script["kernels"]["reference"] = {"ns": 500_000}  # type: ignore[index]  # a dict of dicts, written in two steps
    reference = simulated_kernel("reference")
    jobs = tuple(MeasureJob(name, replace(simulated_kernel(name), binary_digest=""), reference) for name in candidates)
    report = measure_all(jobs, script, budget_seconds=60.0)
    document: dict[str, Any] = json.loads(write_results(Contents(jobs=jobs, origin="job", profile="h200"), report))
    return document


def test_results_of_another_job_and_documents_of_something_else_are_refused(server: RunningService) -> None:
    with Client(server.url) as client:
        kernel = KernelFile("toy", (KernelVariant(stand_in_ir(schedules=2)),))
        job = client.wait(client.submit(submission_of(kernel, load_profile("h200"), candidates=2)).id, seconds=240.0)
        with pytest.raises(ServerError) as caught:
            client.tell(job.id, results_of({"cand_of_another_job": 1_000.0}))
        assert caught.value.code == "results-of-another-job"
        with pytest.raises(ServerError) as damaged:
            client.tell(job.id, {"schema": "warpwright.bundle-results/1"})
        assert damaged.value.code == "results-invalid"
