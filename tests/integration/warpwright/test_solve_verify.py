"""``solve`` and ``verify`` as typed, on the example kernels and on problems from files."""

import json
from pathlib import Path

import pytest

from tests.unit.solver.modulo.tiny import chain
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.main import main
from warpwright.solver.modulo import problem_document

ROOT = Path(__file__).resolve().parents[3]
GEMM = str(ROOT / "examples" / "gemm.py")
THREADS = str(ROOT / "tests" / "integration" / "lowering" / "kernels" / "read_by_threads.py")
VECTOR = str(ROOT / "examples" / "ascend_vector.py")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0), capsys.readouterr().out


def test_what_is_solved_verifies_and_what_is_changed_does_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out = run(capsys, "solve", GEMM, "-p", "h200", "--json")
    assert code == ExitCode.OK
    verdict = json.loads(out)
    assert verdict["status"] == "proven_optimal"
    assert verdict["certificate"]["verified"] is True
    path = tmp_path / "verdict.json"
    path.write_text(out)
    code, out = run(capsys, "verify", str(path), "--kernel", GEMM, "-p", "h200", "--recheck", "--json")
    found = json.loads(out)
    assert (code, found["legal"], found["certificate"]["holds"]) == (ExitCode.OK, True, True)
    assert [proof["finding"] for proof in found["certificate"]["proofs"]] == ["rechecked"]
    verdict["certificate"]["lower_bound"]["reason"] = "search:cpsat says so"
    path.write_text(json.dumps(verdict))
    code, out = run(capsys, "verify", str(path), "--kernel", GEMM, "-p", "h200")
    assert code == ExitCode.FALSE_CERTIFICATE
    assert "certificate/lower-bound" in out
    assert "legal, but its certificate is false: 1 fields refused" in out
    verdict["schedule"]["pipelines"][0]["depth"] = 64
    path.write_text(json.dumps(verdict))
    code, out = run(capsys, "verify", str(path), "--kernel", GEMM, "-p", "h200", "--json")
    assert code == ExitCode.ILLEGAL
    assert "shared_memory" in {violation["family"] for violation in json.loads(out)["violations"]}


def test_a_schedule_from_before_releases_had_fences_is_refused_by_that_rule(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out = run(capsys, "solve", THREADS, "-p", "h200", "--json")
    assert code == ExitCode.OK
    verdict = json.loads(out)
    for program in verdict["schedule"]["scopes"]:
        for body in program["bodies"]:
            body["instructions"] = [entry for entry in body["instructions"] if entry["kind"] != "fence"]
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(verdict))
    code, out = run(capsys, "verify", str(path), "--kernel", THREADS, "-p", "h200", "--json")
    assert code == ExitCode.ILLEGAL
    found = {f"{violation['family']}/{violation['rule']}" for violation in json.loads(out)["violations"]}
    assert found == {"proxy_fences/release-unfenced"}


def test_an_ascend_kernel_is_solved_and_its_schedule_is_legal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pins = tmp_path / "pins.json"
    fixed = [{"buffer": "x", "versions": 3}]
    pins.write_text(json.dumps({"schema": "warpwright.pins/1", "buffers": fixed}))
    code, out = run(capsys, "solve", VECTOR, "-p", "ascend950", "--pins", str(pins), "--json")
    verdict = json.loads(out)
    assert (code, verdict["status"]) == (ExitCode.OK, "proven_optimal")
    assert [{k: pin[k] for k in ("buffer", "versions")} for pin in verdict["certificate"]["pins"]["buffers"]] == fixed
    path = tmp_path / "verdict.json"
    path.write_text(out)
    code, out = run(capsys, "verify", str(path), "--kernel", VECTOR, "-p", "ascend950", "--recheck", "--json")
    found = json.loads(out)
    assert (code, found["legal"], found["certificate"]["refused"]) == (ExitCode.OK, True, [])
    assert [(p["place"], p["finding"]) for p in found["certificate"]["proofs"]] == [("w", "rechecked")]


def test_a_choice_that_does_not_fit_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "solve", GEMM, "-p", "h200", "--why", "pipelines.as_bs.depth=8", "--json")
    answer = json.loads(out)
    assert code == ExitCode.INFEASIBLE
    assert answer["possible"] is False
    assert any("shared" in conflict["family"] for conflict in answer["conflicts"])


def test_a_modulo_problem_from_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem_document(chain())))
    code, out = run(capsys, "solve", "--problem", str(path), "--json")
    answer = json.loads(out)
    assert (code, answer["proven"], answer["verified"]) == (ExitCode.OK, True, True)
    given = tmp_path / "answer.json"
    given.write_text(out)
    code, out = run(capsys, "verify", str(given), "--problem", str(path))
    assert code == ExitCode.OK
    assert "claimed by cpsat, not rechecked" in out
    code, out = run(capsys, "verify", str(given), "--problem", str(path), "--recheck", "--json")
    assert code == ExitCode.OK
    assert {proof["finding"] for proof in json.loads(out)["certificate"]["proofs"]} == {"rechecked"}
    given.write_text(json.dumps({**answer, "proven_by": "z3"}))
    code, out = run(capsys, "verify", str(given), "--problem", str(path), "--json")
    assert code == ExitCode.FALSE_CERTIFICATE
    assert [each["code"] for each in json.loads(out)["certificate"]["refused"]] == ["certificate/proven-by"]
    code, out = run(capsys, "solve", "--problem", str(path))
    assert "verified: yes" in out


def test_a_problem_that_is_none_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    path.write_text("[]")
    code, out = run(capsys, "solve", "--problem", str(path), "--json")
    assert code == ExitCode.BAD_INPUT
    assert json.loads(out)["error"]["code"]


def test_a_verdict_without_a_schedule_cannot_be_verified(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    document = {"schema": "warpwright.verdict/1", "status": "unknown", "reason": "budget", "engine": "z3", "work": 1}
    path.write_text(json.dumps(document))
    code, out = run(capsys, "verify", str(path), "--kernel", GEMM, "-p", "h200", "--json")
    assert code == ExitCode.BAD_INPUT
    assert "without a schedule" in json.loads(out)["error"]["message"]
