"""Public failure reports (docs/results/bug_cases.md) as a user would meet them: by the command or over HTTP."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.warpwright.conftest import Service
from tests.unit.solver.modulo.tiny import chain
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.main import main
from warpwright.kernel_file import read_kernel_file
from warpwright.service.settings import Settings
from warpwright.service.testing import new_ir
from warpwright.service.testing.running import RunningService
from warpwright.solver.modulo import problem_document

ROOT = Path(__file__).resolve().parents[3]
ENDED = ("done", "failed", "cancelled")


def test_faulty_candidates_cost_themselves_and_never_win(start: Callable[..., Service], tmp_path: Path) -> None:
    """Cases 29, 31, 40, 44, 47: the wrong and the failed would be faster than the one that is right; one is noise."""
    script: dict[str, dict[str, Any]] = {
        "0": {"ns": 10_000, "wrong": "left"},
        "1": {"ns": 10_000, "fault": "refused"},
        "2": {"ns": 20_000, "wrong": "late"},
        "3": {"ns": 400_000, "noise": 0.3},
        "4": {"ns": 80_000},
    }
    faults = {5: "not_honoured"}
    code, answer = start().tune(new_ir(schedules=6, faults=faults, on_device=script), tmp_path, "-n", "6")
    found = {c["structure"].get("number", c["kind"]): c for c in answer["candidates"]}
    outcomes = {name: candidate["outcome"] for name, candidate in found.items()}
    assert (outcomes["0"], outcomes["1"], outcomes["2"]) == ("wrong_result", "launch_failed", "wrong_result")
    assert (outcomes["4"], outcomes["5"]) == ("measured", "not_honoured")
    assert code in (ExitCode.OK, ExitCode.PARTIAL), "a device too noisy for a time says so and ends"
    assert answer["best"] == found["4"]["id"]
    assert answer["note"].startswith("measured"), "what was only built is no answer once something was measured"


def test_what_a_compiler_leaves_behind_dies_with_its_job(start: Callable[..., Service]) -> None:
    """Case 35: a process that left its compiler's session survived the tuning."""
    client = start().running.client
    ir = new_ir(schedules=1, faults={0: "orphan"})
    salt = json.loads(ir)["stand_in"]["salt"]
    job = client.post("/v1/jobs", json={"ir": ir, "profile": "h200", "candidates": 1}).json()["id"]
    until = time.monotonic() + 200.0
    while not (alive := left_behind(salt)):
        assert time.monotonic() < until, client.get(f"/v1/jobs/{job}").json()
        time.sleep(0.05)
    client.post(f"/v1/jobs/{job}:cancel").raise_for_status()
    while (state := client.get(f"/v1/jobs/{job}", params={"wait": 5}).json()["state"]) not in ENDED:
        assert time.monotonic() < until
    assert state == "cancelled"
    psutil.wait_procs(alive, timeout=60)
    assert left_behind(salt) == []


def left_behind(word: str) -> list[psutil.Process]:
    """Living processes with this word on their command line."""
    found = psutil.process_iter(["cmdline", "status"])
    return [p for p in found if word in (p.info["cmdline"] or ()) and p.info["status"] != psutil.STATUS_ZOMBIE]


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    document: dict[str, Any] = problem_document(chain())
    return document


def solved(capsys: pytest.CaptureFixture[str], folder: Path, document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    path = folder / "problem.json"
    path.write_text(json.dumps(document))
    with pytest.raises(SystemExit) as left:
        main(["solve", "--problem", str(path), "--json"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return int(left.value.code or 0), answer


def test_the_same_question_has_the_same_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, problem: dict[str, Any]
) -> None:
    """Cases 67 and 71: many schedules are as good, and another one came every time."""
    first, second = (solved(capsys, tmp_path, problem) for _ in range(2))
    assert first[0] == second[0] == ExitCode.OK
    assert first[1] | {"seconds": 0} == second[1] | {"seconds": 0}


def test_numbers_too_large_for_a_solver_prove_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, problem: dict[str, Any]
) -> None:
    """Case 70: bounds beyond the engine's integers came back as infeasible."""
    large = json.loads(json.dumps(problem))
    for edge in large["edges"]:
        edge["latency"] = 1 << 60
    code, answer = solved(capsys, tmp_path, large)
    assert code != ExitCode.INFEASIBLE
    assert answer.get("status") != "infeasible"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_search_that_was_cut_is_never_called_optimal(tmp_path: Path) -> None:
    """Case 74: an engine said OPTIMAL of what it had when it was stopped."""
    ir = read_kernel_file(ROOT / "examples" / "gemm.py", settings={"M": 512, "N": 512, "K": 512}).variants[0].ir
    with RunningService(Settings(data=tmp_path, slow_artifact_sync=False)) as service:

        def asked(work: int) -> dict[str, Any]:
            body = {"ir": ir, "profile": "h200", "work_limit": work, "seconds": 120.0}
            reply = service.client.post("/v1/solve", json=body, timeout=240.0)
            assert reply.status_code == 200, reply.text
            answer: dict[str, Any] = reply.json()
            return answer

        whole = asked(100_000)
        assert whole["status"] == "proven_optimal"
        for work in {1, max(1, whole["certificate"]["work"] // 2)}:
            cut = asked(work)
            if cut["status"] == "proven_optimal":
                assert (cut["certificate"]["gap_cycles"], cut["certificate"]["work"] <= work) == (0, True)
            else:
                assert cut["status"] in ("feasible", "unknown")
