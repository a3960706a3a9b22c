"""What cannot be built is refused when it is read, on every way in, and the message names the way out, which works."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.main import main
from warpwright.errors import KernelFileError
from warpwright.kernel_file import read_kernel_file
from warpwright.service.settings import Settings
from warpwright.service.testing.running import RunningService
from warpwright.tuning.children import ChildPool

FILE = Path(__file__).parents[1] / "lowering" / "kernels" / "open_sizes.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with the real compilers."""
    data = tmp_path_factory.mktemp("data")
    with RunningService(Settings(data=data, slow_artifact_sync=False, child_memory_bytes=8 << 30)) as running:
        yield running


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def test_every_way_in_refuses_an_open_size_with_the_same_words(
    capsys: pytest.CaptureFixture[str], server: RunningService
) -> None:
    """`solve` called it proven optimal, `tune` found nothing usable after 80 s (issue 14, point 8)."""
    code, out, err = run(capsys, "solve", FILE, "-p", "h200")
    assert (code, out) == (ExitCode.BAD_INPUT, "")
    assert "the size m of X is known only at the launch" in err
    assert "--set m=VALUE" in err
    body = {"ir": read_kernel_file(FILE).variants[0].ir, "profile": "h200"}
    answers = [server.client.post(path, json=body) for path in ("/v1/solve", "/v1/jobs")]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(422, "symbolic-size")] * 2
    assert {answer.json()["detail"] for answer in answers} < {line.removeprefix("error: ") for line in err.splitlines()}
    code, out, err = run(capsys, "tune", FILE, "-p", "h200", "--server", server.url)
    assert code == ExitCode.REFUSED
    assert "--set m=VALUE" in err


def test_a_value_on_the_command_line_makes_it_a_kernel_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "solve", FILE, "-p", "h200", "--set", "M=4096", "--set", "count=3", "--json")
    assert (code, json.loads(out)["status"]) == (ExitCode.OK, "proven_optimal")


@pytest.mark.parametrize(("settings", "words"), [({"sise": 1}, "it has m, count"), ({"m": 3.5}, "it cannot be 3.5")])
def test_a_value_that_the_kernel_cannot_have_is_refused(
    pool: ChildPool, settings: dict[str, float], words: str
) -> None:
    with pytest.raises(KernelFileError) as caught:
        read_kernel_file(FILE, settings=settings, pool=pool)
    assert words in caught.value.message
