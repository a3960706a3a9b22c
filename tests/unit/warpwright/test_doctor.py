"""The doctor says what is there, what is missing, and what it would add."""

import json
from collections.abc import Mapping, Sequence

import pytest

from warpwright.cli.doctor import run_doctor
from warpwright.cli.exit_codes import ExitCode
from warpwright.doctor import Finding, Run, examine

NVCC = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\nBuild x\n"


def machine(programs: Mapping[str, str]) -> Run:
    def run(command: Sequence[str]) -> str | None:
        return programs.get(command[0])

    return run


def finding(name: str, programs: Mapping[str, str]) -> Finding:
    return next(each for each in examine(run=machine(programs)) if each.name == name)


def test_a_gpu_is_named_with_its_profile() -> None:
    found = finding("NVIDIA GPU", {"nvidia-smi": "NVIDIA H200, 143771 MiB, 570.1, 9.0\n"})
    assert found.found
    assert "profile h200" in found.detail


def test_a_device_without_a_profile_says_so() -> None:
    assert "no built-in profile" in finding("NVIDIA GPU", {"nvidia-smi": "NVIDIA T4, 1 MiB, 1, 7.5\n"}).detail


def test_without_a_gpu_it_says_what_a_gpu_would_add() -> None:
    found = finding("NVIDIA GPU", {})
    assert not found.found
    assert not found.needed
    assert "measur" in found.enables


def test_nvcc_shows_its_release() -> None:
    assert "release 13.0" in finding("nvcc", {"nvcc": NVCC}).detail


def test_solvers_are_needed_and_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(each.found for each in examine(run=machine({})) if each.needed)
    assert run_doctor(None, None, as_json=True) is ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "warpwright.doctor/1"
    assert {"ortools", "tilelang", "nvcc"} <= {each["name"] for each in document["findings"]}


def test_with_a_server_no_solver_is_needed_here() -> None:
    here = {each.name for each in examine(run=machine({})) if each.needed}
    there = {each.name for each in examine(server="http://127.0.0.1:9", run=machine({})) if each.needed}
    assert {"ortools", "z3-solver", "fastapi", "data folder"} <= here
    assert there == {"Python"}


def test_a_server_that_is_away_is_a_finding_not_an_error() -> None:
    found = next(each for each in examine(server="http://127.0.0.1:9", run=machine({})) if each.name == "server")
    assert not found.found
    assert "127.0.0.1:9" in found.detail
