"""The commands as a user types them: what goes to stdout, what the exit code says, here and against a server."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.main import main
from warpwright.cli.render import print_result
from warpwright.result import Result
from warpwright.service.settings import Settings
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import Candidate, CandidateKind, Outcome
from warpwright.tuning.testing.toolchain import StandInToolchain, stand_in_ir


class Command:
    """Runs the program in this process and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str | Path) -> int:
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        self.out, self.err = self._capsys.readouterr()
        return int(left.value.code or 0)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.setenv("WARPWRIGHT_DATA", str(tmp_path / "data"))  # not the data of the person who runs the tests
    return Command(capsys)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    settings = Settings(data=tmp_path_factory.mktemp("data"), slow_artifact_sync=False)
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running


@pytest.fixture
def ir(tmp_path: Path) -> Path:
    path = tmp_path / "toy.json"
    path.write_text(stand_in_ir(schedules=2, salt=tmp_path.name))
    return path


def test_tune_on_a_server_prints_one_document(run: Command, server: RunningService, ir: Path, tmp_path: Path) -> None:
    code = run("tune", ir, "-p", "h200", "--server", server.url, "--json", "-n", "2")
    document = json.loads(run.out)
    assert code == ExitCode.OK
    assert document["schema"] == "warpwright.tune-result/1"
    assert document["note"] == "compiled, not measured"
    assert document["job"].startswith("job_")
    page = tmp_path / "out" / "report.html"
    assert run("report", document["job"], "-o", page, "--server", server.url) == ExitCode.OK
    assert "compiled, not measured" in page.read_text()


def test_tune_for_people_shows_a_table_and_the_files(
    run: Command, server: RunningService, ir: Path, tmp_path: Path
) -> None:
    assert run("tune", ir, "-p", "h200", "--server", server.url, "-n", "2", "--out", tmp_path / "out") == ExitCode.OK
    assert "chosen: scheduled" in run.out
    assert "candidates to build" in run.err
    assert (tmp_path / "out" / "result.json").is_file()
    assert (tmp_path / "out" / "schedule.json").is_file()
    assert "<h1>" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("columns", [80, 119])
def test_a_narrow_terminal_gets_two_lines_a_candidate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a terminal
    monkeypatch.setenv("COLUMNS", str(columns))
    long = {"pipelines": "separate", "depth": "As=3,Bs=3", "store": "own role", "registers": "24/160"}
    best, other = (
        Candidate(
            f"cand_{n}",
            n,
            CandidateKind.SCHEDULED,
            Outcome.MEASURED,
            {"BM": 128 * (n + 1), "BN": 128, "threads": 256},
            structure={"consumer_warpgroups": "3", **long, "iterations": "two products in flight"},
            forecast_ns=1e6,
            measured_ns=1e6 + n,
        )
        for n in range(2)
    )
    print_result(Result("toy", "h200", "tuned", best, (best, other), answer="1.1× over the compiler's best"), ())
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[1] == "every candidate: BN=128 threads=256"
    assert [line[:38].rstrip() for line in lines[2:6:2]] == [
        "* scheduled     measured  1000.0 µs, f",
        "  scheduled     measured  1000.0 µs, f",
    ]
    assert lines[3].startswith("    3 warpgroups, separate, As=3,Bs=3, store own role, registers 24/160")
    assert ("; BM=128" in lines[3], "; BM=256" in lines[5]) == (columns > 110, columns > 110)
    assert lines[6].startswith("chosen: ")
    assert lines[-1] == "answer: 1.1× over the compiler's best"


def test_control_c_ends_the_program_even_while_it_reads_a_kernel(tmp_path: Path) -> None:
    """Reading may take long: a kernel file is a program. Nothing is waited for, because there is no job yet."""
    file, begun = tmp_path / "slow.py", tmp_path / "begun"
    file.write_text(f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "warpwright", "tune", str(file), "-p", "h200"]
    # What runs in a shell's background ignores this signal, and so do its children; a handler of ours is not inherited.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        program = subprocess.Popen(command, env={**os.environ, "WARPWRIGHT_DATA": str(tmp_path)})
    finally:
        signal.signal(signal.SIGINT, before)
    with program:
        while not begun.exists() and program.poll() is None:
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=240) == ExitCode.INTERRUPTED


def test_a_measured_winner_says_where_else_it_was_right(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [
        {"name": "M=1000", "outcome": "right", "message": ""},
        {"name": "M=9", "outcome": "not_built", "message": "why"},
    ]
    best = Candidate(
        "cand_1", 0, CandidateKind.DEFAULT, Outcome.MEASURED, measured_ns=1000.0, measurement={"sizes": sizes}
    )
    print_result(Result("toy", "h200", "tuned", best, (best,), note="measured"))
    assert "at other sizes: M=1000: right; M=9: not built (why)" in capsys.readouterr().out


def test_infeasible_has_its_own_code(run: Command, server: RunningService, tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_text(stand_in_ir(infeasible=True))
    assert run("tune", path, "-p", "h200", "--server", server.url) == ExitCode.INFEASIBLE
    assert "impossible" in run.out


def test_a_refusal_of_the_server_is_told_with_its_code(run: Command, server: RunningService, tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_text(stand_in_ir(refuse="foreign-code"))
    assert run("tune", path, "-p", "h200", "--server", server.url, "--json") == ExitCode.REFUSED
    assert json.loads(run.out)["error"]["code"]
    assert "error:" in run.err


def test_an_unknown_job_is_refused(run: Command, server: RunningService, tmp_path: Path) -> None:
    assert run("report", "job_nope", "-o", tmp_path / "r.html", "--server", server.url) == ExitCode.REFUSED
    assert not (tmp_path / "r.html").exists()


def test_a_server_that_is_away_has_its_own_code(run: Command, ir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpwright.client.transport.DELAYS", (0.0,))
    assert run("tune", ir, "-p", "h200", "--server", "http://127.0.0.1:9", "--json") == ExitCode.UNREACHABLE
    assert json.loads(run.out)["error"]["code"] == "server-unreachable"


def test_build_options_go_to_the_job_and_come_back(run: Command, server: RunningService, ir: Path) -> None:
    options = ("--build-option", "flush_denormals", "--build-option", "fast_math")
    run("tune", ir, "-p", "h200", "--server", server.url, "--json", "-n", "1", *options)
    document = json.loads(run.out)
    assert document["build_options"] == ["fast_math", "flush_denormals"]
    assert all(c["report"]["options"] == ["fast_math", "flush_denormals"] for c in document["candidates"])
    run("tune", ir, "-p", "h200", "--server", server.url, "-n", "1", "--build-option", "flush_denormals")
    assert "built with flush_denormals" in run.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("tune", "absent.py", "-p", "h200"), "kernel-file-missing"),
        (("tune", "absent.py", "-p", "no-such-device"), "profile-unknown-name"),
        (("tune", "absent.py", "-p", "h200", "--effort", "heroic"), "effort-unknown"),
        (("tune", "absent.py", "-p", "h200", "--build-option", "faster"), "build-option-unknown"),
        (("tune", "IR", "-p", "h200", "--out", "/proc/none"), "output-unwritable"),
        (("tune", "IR", "-p", "h200", "--engine", "oracle"), "request-invalid"),
        (("tune", "IR", "-p", "h200", "-n", "1000000"), "request-invalid"),
        (("solve", "IR", "-p", "h200", "--engine", "oracle"), "engine-unknown"),
        (("verify", "absent.json", "--kernel", "absent.py", "-p", "h200"), "document-unreadable"),
        (("profiles", "no-such-device"), "profile-unknown-name"),
    ],
)
def test_bad_input_names_itself(run: Command, ir: Path, arguments: tuple[str, ...], code: str) -> None:
    assert run(*(ir if argument == "IR" else argument for argument in arguments), "--json") == ExitCode.BAD_INPUT
    assert json.loads(run.out)["error"]["code"] == code


def test_a_bundle_for_a_device_without_the_option_is_refused_before_any_work(run: Command, ir: Path) -> None:
    arguments = ("bundle", ir, "-o", "b.tar", "-p", "ascend910b", "--build-option", "fast_math")
    assert run(*arguments) == ExitCode.BAD_INPUT
    assert "fast_math is not an option of builds for ascend devices" in run.err


def test_a_kernel_file_that_is_not_there_is_no_job(run: Command) -> None:
    assert run("bundle", "absent.py", "-o", "b.tar", "-p", "h200") == ExitCode.BAD_INPUT
    assert "file not found: absent.py" in run.err


def test_an_output_that_cannot_be_written_is_told_before_any_work(run: Command, tmp_path: Path) -> None:
    for arguments in (("report", "job_x"), ("measure", "absent.tar"), ("bundle", "job_x")):
        assert run(*arguments, "-o", tmp_path) == ExitCode.BAD_INPUT
        assert "it is a folder" in run.err
        assert "output-unwritable" in run.err


def test_a_full_disk_is_the_machines_fault_and_needs_no_traceback(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(name: str | None, *, as_json: bool) -> ExitCode:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("warpwright.cli.profiles.run_profiles", full)
    assert run("profiles", "--json") == ExitCode.FAULT
    assert run.err == "error: [Errno 28] No space left on device\n  code machine\n"
    assert json.loads(run.out)["error"]["code"] == "machine"


@pytest.mark.parametrize("command", ["tune", "lock", "bundle", "report", "token", "batch"])
def test_a_user_without_a_writable_home_is_told_what_to_set(
    run: Command, ir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """It was a kernel file that is wrong (code 5), or a fault of ours with a traceback."""
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    monkeypatch.setenv("HOME", str(no_folder / "home"))
    for variable in ("XDG_DATA_HOME", "WARPWRIGHT_DATA"):
        monkeypatch.delenv(variable, raising=False)
    arguments: dict[str, tuple[str | Path, ...]] = {
        "tune": (ir, "-p", "h200", "--json"),
        "lock": (ir, "-p", "h200", "--lock", tmp_path / "w.lock"),
        "bundle": ("job_x", "-o", tmp_path / "b.tar"),
        "report": ("job_x", "-o", tmp_path / "r.html"),
        "token": ("list", "--json"),
        "batch": ("batch_x",),
    }
    assert run(command, *arguments[command]) == ExitCode.FAULT
    assert "is not writable" in run.err
    assert "set WARPWRIGHT_DATA" in run.err
    assert "Traceback" not in run.err
    if "--json" in arguments[command]:
        error = json.loads(run.out)["error"]
        assert (error["code"], error["place"]) == ("data-folder-away", "WARPWRIGHT_DATA")


def test_a_wrong_command_line_has_its_document_too(run: Command) -> None:
    assert run("tune", "--json") == ExitCode.USAGE
    assert json.loads(run.out)["error"]["code"] == "usage"
    assert "Missing argument" in run.err


def test_a_wrong_command_line_is_usage(run: Command) -> None:
    assert run("solve") == ExitCode.USAGE
    assert run("tune") == ExitCode.USAGE
    assert run("no-such-command") == ExitCode.USAGE


def test_profiles_are_listed_and_shown(run: Command) -> None:
    assert run("profiles", "--json") == ExitCode.OK
    names = [profile["name"] for profile in json.loads(run.out)["profiles"]]
    assert "h200" in names
    assert "ascend950" in names
    assert run("profiles", "h200", "--json") == ExitCode.OK
    assert json.loads(run.out)["schema"] == "warpwright.hardware-profile/1"
    assert run("profiles", "h200") == ExitCode.OK
    assert "shared.per_block" in run.out


def test_tokens_are_made_listed_and_revoked(run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPWRIGHT_DATA", str(tmp_path))
    assert run("token", "create", "ci", "--scope", "tune", "--json") == ExitCode.OK
    made = json.loads(run.out)
    assert run("token", "list", "--json") == ExitCode.OK
    assert made["secret"] not in run.out
    assert run("token", "revoke", made["id"]) == ExitCode.OK
    assert run("token", "revoke", made["id"]) == ExitCode.BAD_INPUT
    assert run("token", "create", "x", "--scope", "root") == ExitCode.BAD_INPUT


def test_a_fault_of_ours_shows_its_traceback(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str | None, *, as_json: bool) -> ExitCode:
        raise RuntimeError("a bug")

    monkeypatch.setattr("warpwright.cli.profiles.run_profiles", broken)
    assert run("profiles", "--json") == ExitCode.FAULT
    assert "Traceback" in run.err
    assert json.loads(run.out)["error"]["code"] == "fault"


def test_a_worker_with_an_unknown_capability_names_those_there_are(run: Command) -> None:
    assert run("worker", "--capabilities", "compile.cuda,compile.none") == ExitCode.BAD_INPUT
    assert "compile.none" in run.err
    assert "compile.cuda" in run.err


def test_workers_are_listed_drained_and_resumed(run: Command, server: RunningService) -> None:
    report = {"capabilities": ["solve", "measure.h200"], "devices": [{"name": "NVIDIA H200"}], "tasks_done": 7}
    error = {"code": "Raised", "message": "no disk"}
    server.client.put("/v1/workers/w1@rack", json={**report, "last_error": error}).raise_for_status()
    there = ("--server", server.url)
    assert run("workers", "list", *there) == ExitCode.OK
    assert {"w1@rack", "working", "7"} <= set(run.out.split())
    assert run("workers", "drain", "w1@rack", *there) == ExitCode.OK
    assert run.out == "w1@rack is draining\n"
    assert run("workers", "list", *there, "--json") == ExitCode.OK
    (worker,) = json.loads(run.out)["workers"]
    assert (worker["id"], worker["draining"], worker["last_error"]) == ("w1@rack", True, error)
    assert run("workers", "resume", "w1@rack", *there) == ExitCode.OK
    assert run.out == "w1@rack is working\n"
    assert run("workers", "drain", "nobody@rack", *there) == ExitCode.REFUSED
    assert "worker-unknown" in run.err
