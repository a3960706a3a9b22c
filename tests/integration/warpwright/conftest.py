"""Services whose device is simulated and whose steps run in real children, and the command against them."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from warpwright.cli.main import main
from warpwright.service.settings import Settings
from warpwright.service.testing.running import RunningService
from warpwright.tuning.measure.devices import Devices
from warpwright.tuning.task_runners.local import LocalRunner
from warpwright.tuning.testing.on_runner import SIMULATED, StandInOnRunner
from warpwright.tuning.testing.toolchain import StandInToolchain

Answer = tuple[int, dict[str, Any]]


class SharedRunner(LocalRunner):
    """Outlives the services of single tests: starting children anew for each would take longer than the tests."""

    def close(self) -> None:
        """Not yet."""


@pytest.fixture(scope="session")
def runner() -> Iterator[LocalRunner]:
    shared = SharedRunner(2, warm=False)
    yield shared
    LocalRunner.close(shared)


class Service:
    """A service with a simulated device, and the command against it."""

    def __init__(self, running: RunningService, plain: StandInToolchain, capsys: pytest.CaptureFixture[str]) -> None:
        self.running = running
        self.plain = plain
        self._capsys = capsys

    def tune(self, ir: str, folder: Path, *options: str) -> Answer:
        """The command's exit code and its document."""
        (folder / "toy.json").write_text(ir)
        code, out = self.run("tune", str(folder / "toy.json"), "-p", "h200", "--json", *options)
        return code, json.loads(out)

    def run(self, *arguments: str) -> tuple[int, str]:
        """The command's exit code and what it printed."""
        with pytest.raises(SystemExit) as left:
            main([*arguments, "--server", self.running.url])
        return int(left.value.code or 0), self._capsys.readouterr().out


@pytest.fixture
def start(
    runner: LocalRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Service]]:
    """Starts services; options are the device's."""
    monkeypatch.setenv("WARPWRIGHT_LEASES", str(tmp_path / "leases"))
    with ExitStack() as services:

        def starter(**device: Any) -> Service:
            plain = StandInToolchain(device=True)
            tools = StandInOnRunner(runner, Devices([SIMULATED | device]), plain)
            settings = Settings(data=tmp_path / "data", slow_artifact_sync=False, build_slots=2)
            return Service(services.enter_context(RunningService(settings, toolchain=tools)), plain, capsys)

        yield starter
