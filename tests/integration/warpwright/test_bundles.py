"""Bundles from the command line: packed from a result, measured on a simulated device, and what must be there is there."""

import json
from pathlib import Path

import pytest

from lowering.bundle import Contents, pack
from lowering.compile.result import to_document
from lowering.measure.runner import Job
from lowering.testing.device import simulated_kernel
from solver.domain.errors import WarpwrightError
from warpwright.bundles import contents_of
from warpwright.cli.bundle import run_measure
from warpwright.cli.exit_codes import ExitCode
from warpwright.result import Candidate, Result

SCRIPT = {
    "kind": "simulated",
    "kernels": {"fast": {"ns": 80_000}, "slow": {"ns": 120_000}, "reference": {"ns": 150_000}},
}


def candidate(kind: str, *, binary: bytes = b"\x7fELF") -> Candidate:
    report = {
        key: value for key, value in to_document(simulated_kernel(kind)).items() if key not in ("source", "binary")
    }
    products = {"binary": binary} if binary else {}
    return Candidate(f"cand_{kind}", kind, "compiled", 0, {}, report=report, products=products)


def result(*candidates: Candidate) -> Result:
    return Result("gemm", "h200", "tuned", candidates[0], candidates, job="job_1")


def test_the_unspecialized_build_is_the_reference_of_all(tmp_path: Path) -> None:
    contents = contents_of(result(candidate("scheduled"), candidate("default"), candidate("unspecialized")), tmp_path)
    assert [job.candidate for job in contents.jobs] == ["cand_scheduled", "cand_default", "cand_unspecialized"]
    references = {job.reference.launch.kernel for job in contents.jobs if job.reference and job.reference.launch}
    assert references == {"unspecialized"}
    assert contents.always_final == ("cand_default", "cand_unspecialized")


def test_a_candidate_without_a_binary_stays_at_home(tmp_path: Path) -> None:
    contents = contents_of(result(candidate("scheduled", binary=b""), candidate("unspecialized")), tmp_path)
    assert [job.candidate for job in contents.jobs] == ["cand_unspecialized"]


def test_without_a_reference_nothing_is_packed(tmp_path: Path) -> None:
    with pytest.raises(WarpwrightError, match="unspecialized build is missing"):
        contents_of(result(candidate("scheduled")), tmp_path)
    with pytest.raises(WarpwrightError, match="no candidate"):
        contents_of(result(candidate("scheduled", binary=b"")), tmp_path)


def test_measure_writes_results_with_a_winner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = simulated_kernel("reference")
    jobs = tuple(Job(name, simulated_kernel(name), reference) for name in ("fast", "slow"))
    pack(tmp_path / "b.tar", Contents(jobs=jobs, origin="job_1", profile="h200"))
    monkeypatch.setattr("warpwright.cli.bundle._device", lambda text: SCRIPT)
    assert run_measure(tmp_path / "b.tar", tmp_path / "results.json", "simulated", 60.0) is ExitCode.OK
    document = json.loads((tmp_path / "results.json").read_text())
    assert document["schema"] == "warpwright.bundle-results/1"
    assert document["verdict"]["winner"] == "fast"
    assert "winner fast" in capsys.readouterr().out


def test_a_device_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(WarpwrightError, match="no device"):
        run_measure(tmp_path / "b.tar", tmp_path / "r.json", "tpu:0", 1.0)
