"""Batches as typed: lines become jobs, the display outlives a server that is away, results come out as lines or CSV."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from warpwright.batch import batch_lines, batch_text
from warpwright.cli.batch import watch
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.main import main
from warpwright.client import Client
from warpwright.errors import ServerUnreachable
from warpwright.service.batches.schemas import BatchView
from warpwright.service.settings import Settings
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import DocumentError
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool
from warpwright.tuning.testing.toolchain import StandInToolchain, stand_in_ir
from warpwright.tuning.toolchain import Stop


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    settings = Settings(data=tmp_path_factory.mktemp("data"), slow_artifact_sync=False)
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0), capsys.readouterr().out


def test_a_batch_ends_with_a_line_for_every_line(
    capsys: pytest.CaptureFixture[str], server: RunningService, tmp_path: Path
) -> None:
    lines = [{"ir": stand_in_ir(schedules=1, salt=salt), "label": salt, "candidates": 1} for salt in ("a", "b", "a")]
    file = write(tmp_path / "kernels.jsonl", *lines, {"ir": "no IR", "label": "broken"})
    out = tmp_path / "results.csv"
    code, shown = run(capsys, "batch", file, "-p", "h200", "--server", server.url, "-o", out, "--json")
    batch = json.loads(shown)
    assert code == ExitCode.OK
    assert (batch["lines"], batch["jobs"], batch["ended"]) == (4, 3, True)
    with out.open(newline="") as rows:
        assert len(list(csv.DictReader(rows))) == 4
    again, shown = run(capsys, "batch", file, "-p", "h200", "--server", server.url, "--json")
    assert (again, json.loads(shown)["id"]) == (ExitCode.OK, batch["id"])
    taken_up, shown = run(capsys, "batch", batch["id"], "--server", server.url)
    assert taken_up == ExitCode.OK
    assert "3 done" in shown


def test_kernel_files_are_read_on_this_side(tmp_path: Path) -> None:
    (tmp_path / "toy.json").write_text(stand_in_ir())
    file = write(tmp_path / "kernels.jsonl", {"file": "toy.json", "candidates": 2}, {"ir": "x", "profile": "h100"})
    profile = load_profile("h200")
    with ChildPool(1) as pool:
        first, second = batch_lines(file, profile, "quick", pool)
    assert (first["name"], first["label"], first["candidates"], first["effort"]) == ("toy", "toy.json", 2, "quick")
    assert first["variants"] == [{"ir": stand_in_ir(), "params": {}}]
    assert (first["profile"]["name"], second["profile"]["name"]) == ("h200", "h100")
    assert batch_text(file, profile) == batch_text(file, profile)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "batch-line-invalid"),
        ("[]", "batch-line-invalid"),
        ('{"label": "x"}', "batch-line-invalid"),
        ('{"ir": "x"}', "batch-no-profile"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "kernels.jsonl"
    file.write_text("\n" + text + "\n")
    with pytest.raises(DocumentError) as caught:
        batch_text(file, None)
    assert caught.value.code == code
    assert str(caught.value.place).endswith(":2")


def test_the_display_outlives_a_server_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpwright.cli.batch.time.sleep", lambda seconds: None)
    started = BatchView.model_validate(
        {"id": "batch_1", "name": "n", "created_at": "2026-01-01T00:00:00Z", "lines": 1, "ended": False, "cancelled": False,
         "counts": {}, "jobs": 1, "done": 0, "total": 4, "seconds_left": None}
    )  # fmt: skip
    answers: list[BatchView | Exception] = [
        ServerUnreachable("away"),
        ServerUnreachable("away"),
        started.model_copy(update={"ended": True, "counts": {"done": 1}}),
    ]

    class Flaky(Client):
        def batch(self, batch_id: str) -> BatchView:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    with Flaky("http://server.test") as client:
        assert watch(client, started, Stop(), silent=True).counts == {"done": 1}
    assert answers == []
