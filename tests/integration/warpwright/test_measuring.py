"""Measuring as its user meets it: the command against a service whose device is simulated, its steps in real children."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.integration.warpwright.conftest import Answer, Service
from warpwright.cli.exit_codes import ExitCode
from warpwright.service.testing import new_ir
from warpwright.tuning.measure.lease import DeviceLease, lease_name
from warpwright.tuning.testing.on_runner import SIMULATED


def by_kind(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Candidates by kind, ours by number."""
    return {c["structure"].get("number", c["kind"]): c for c in answer["candidates"]}


def test_a_default_that_hangs_costs_the_others_nothing(start: Callable[..., Service], tmp_path: Path) -> None:
    """It ran out its minute, the rest was 'compiled, not measured', and the answer was whole and of code 0."""
    ir = new_ir(schedules=3, on_device={"default": {"fault": "hang"}, "1": {"fault": "hang"}})
    code, answer = start().tune(ir, tmp_path, "-n", "3", "--budget", "100")
    found = by_kind(answer)
    assert {name: c["outcome"] for name, c in found.items()} == {
        "unspecialized": "measured",
        "default": "timed_out",
        "role_based": "measured",
        "0": "measured",
        "1": "timed_out",
        "2": "measured",
    }
    assert found["default"]["failure"]["code"] == "hang"
    assert "did not return within 2.0 s" in found["default"]["failure"]["message"]
    assert answer["best"] == found["0"]["id"]
    assert (code, answer["partial"], answer["note"]) == (ExitCode.OK, False, "measured")


def test_a_reference_that_hangs_leaves_nothing_to_crown(start: Callable[..., Service], tmp_path: Path) -> None:
    """Without it nothing can be checked, and nothing else is to blame."""
    ir = new_ir(schedules=1, on_device={"unspecialized": {"fault": "hang"}})
    code, answer = start().tune(ir, tmp_path, "-n", "1")
    outcomes = {name: c["outcome"] for name, c in by_kind(answer).items()}
    assert outcomes == {
        "unspecialized": "timed_out",
        "default": "reference_failed",
        "role_based": "reference_failed",
        "0": "reference_failed",
    }
    assert (code, answer["best"]) == (ExitCode.NOTHING_USABLE, None)


def test_a_device_that_others_hold_is_waited_for_and_then_said(start: Callable[..., Service], tmp_path: Path) -> None:
    service, ir = start(), new_ir(schedules=1)
    with DeviceLease(lease_name(SIMULATED)):
        code, answer = service.tune(ir, tmp_path, "-n", "1", "--budget", "20")
    assert (code, answer["partial"], answer["stopped_by"]) == (ExitCode.PARTIAL, True, "device-busy")
    assert answer["note"] == "compiled, not measured: another session had the device"
    for candidate in answer["candidates"]:
        assert (candidate["outcome"], candidate["failure"]["code"]) == ("compiled", "device-busy")
    built = len(service.plain.compiled)
    code, again = service.tune(ir, tmp_path, "-n", "1", "--budget", "60")
    assert (code, again["partial"], again["note"]) == (ExitCode.OK, False, "measured")
    assert {c["outcome"] for c in again["candidates"]} == {"measured"}
    assert all(c["failure"] is None for c in again["candidates"])
    assert len(service.plain.compiled) == built, "what was built is not built again"


def test_a_default_that_wins_has_its_source_written(start: Callable[..., Service], tmp_path: Path) -> None:
    ir = new_ir(schedules=1, on_device={"default": {"ns": 50_000}})
    code, answer = start().tune(ir, tmp_path, "-n", "1", "--out", str(tmp_path / "out"))
    best = next(c for c in answer["candidates"] if c["id"] == answer["best"])
    assert (code, best["kind"]) == (ExitCode.OK, "default")
    assert (tmp_path / "out" / "kernel.py").read_text() == "# stand-in kernel toy, default\n"
    assert "default" in (tmp_path / "out" / "kernel.cu").read_text()
    assert not (tmp_path / "out" / "schedule.json").exists()


def together(folder: Path, count: int, at_a_time: int, budget: str, **recipe: Any) -> list[Answer]:
    """So many commands, each with a service of its own, that share one device."""
    environment = {
        **os.environ,
        "WARPWRIGHT_TOOLCHAIN": "stand_in_children",
        "WARPWRIGHT_BUILD_SLOTS": "1",
        "WARPWRIGHT_LEASES": str(folder / "leases"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }

    def tune(number: int) -> Answer:
        own = folder / str(number)
        own.mkdir()
        (own / "toy.json").write_text(new_ir(schedules=4, **recipe))
        command = [sys.executable, "-m", "warpwright", "tune", "toy.json", "-p", "h200", "-n", "4", "--json"]
        data = {"WARPWRIGHT_DATA": str(own / "data")}
        run = subprocess.run([*command, "--budget", budget], cwd=own, env=environment | data, capture_output=True)
        return run.returncode, json.loads(run.stdout)

    with ThreadPoolExecutor(at_a_time) as pool:
        return list(pool.map(tune, range(count)))


def all_measured(answers: list[Answer]) -> None:
    for code, answer in answers:
        best = next(c for c in answer["candidates"] if c["id"] == answer["best"])
        assert best["outcome"] == "measured", answer
        # Whoever was measured for others' sake only in part says so.
        assert code == (ExitCode.PARTIAL if answer["partial"] else ExitCode.OK)


def test_commands_that_share_a_device_are_all_measured(tmp_path: Path) -> None:
    all_measured(together(tmp_path, 3, 3, "200"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_eighteen_jobs_four_at_a_time_on_one_device_are_all_measured(tmp_path: Path) -> None:
    """On an H200 twelve of them came back 'compiled, not measured', with code 0. A load takes a second here, as there."""
    all_measured(together(tmp_path, 18, 4, "55", seconds=1.0))


def test_people_are_told_what_a_partial_answer_lacks(start: Callable[..., Service], tmp_path: Path) -> None:
    service = start()
    (tmp_path / "toy.json").write_text(new_ir(schedules=1))
    with DeviceLease(lease_name(SIMULATED)):
        code, shown = service.run("tune", str(tmp_path / "toy.json"), "-p", "h200", "-n", "1", "--budget", "20")
    assert code == ExitCode.PARTIAL
    assert "partial (another session had the device): this is the best known so far" in " ".join(shown.split())


def test_times_taken_beside_a_busy_neighbour_are_no_times(start: Callable[..., Service], tmp_path: Path) -> None:
    """What is compiled stays compiled, and the answer says what happened to its measurement."""
    code, answer = start(foreign=1, foreign_busy=40).tune(new_ir(schedules=1), tmp_path, "-n", "1")
    assert (code, answer["stopped_by"]) == (ExitCode.PARTIAL, "contended")
    for candidate in answer["candidates"]:
        assert (candidate["outcome"], candidate["measured_ns"]) == ("compiled", None)
        assert candidate["failure"]["code"] == "contended"
        assert "another process was using the device" in candidate["failure"]["message"]


def test_a_device_that_fails_takes_no_candidate_along(start: Callable[..., Service], tmp_path: Path) -> None:
    code, answer = start(canary="wrong").tune(new_ir(schedules=1), tmp_path, "-n", "1")
    assert (code, answer["stopped_by"]) == (ExitCode.PARTIAL, "device-lost")
    assert {c["outcome"] for c in answer["candidates"]} == {"compiled"}
    assert {c["failure"]["code"] for c in answer["candidates"]} == {"device-lost"}


def test_references_with_nan_and_infinities_are_measured(start: Callable[..., Service], tmp_path: Path) -> None:
    """'Out of range float values are not JSON compliant' was what the candidates failed with."""
    every = {"special": True}
    kinds = ("default", "role_based", "unspecialized", "0")
    scripts = {**dict.fromkeys(kinds, every), "1": {"special": "finite"}}
    code, answer = start().tune(new_ir(schedules=2, on_device=scripts), tmp_path, "-n", "2")
    found = by_kind(answer)
    assert {found[name]["outcome"] for name in kinds} == {"measured"}
    assert found["1"]["outcome"] == "wrong_result"
    assert "where the reference is NaN or infinite" in found["1"]["failure"]["message"]
    assert (code, answer["best"]) == (ExitCode.OK, found["0"]["id"])
