"""The compose file's commands are those of the command line, and its variables those of the settings."""

import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from service.settings import DEFAULT_PORT, Settings
from warpwright.cli.main import app

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docker-compose.yml"
NOT_SETTINGS = {"WARPWRIGHT_SERVICE_URL", "WARPWRIGHT_TOKEN"}
"""Read by workers (``service.engines.celery_app``)."""


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return document


@pytest.mark.parametrize("name", ["service", "compile-worker", "gpu-worker"])
def test_every_command_of_ours_parses(name: str) -> None:
    command: Any = typer.main.get_command(app)
    words = compose()["services"][name]["command"]
    sub = command.commands[words[0]]
    with sub.make_context(words[0], list(words[1:]), resilient_parsing=False) as context:
        assert context.params


def test_variables_are_settings_and_parse() -> None:
    environment = compose()["x-common"]["environment"]
    known = {f"WARPWRIGHT_{item.name.upper()}" for item in fields(Settings)} | NOT_SETTINGS
    assert set(environment) <= known
    parsed = Settings.from_environment({key: str(value) for key, value in environment.items()})
    assert parsed.task_engine == "celery"


def test_the_pieces_are_there() -> None:
    services = compose()["services"]
    assert set(services) == {"service", "compile-worker", "gpu-worker", "postgres", "redis"}
    assert services["service"]["ports"] == [f"{DEFAULT_PORT}:{DEFAULT_PORT}"]


def test_docker_accepts_it() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        return  # what docker would check is checked above as far as it goes; CI images without docker stay green
    checked = subprocess.run([docker, "compose", "-f", str(FILE), "config", "-q"], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr.decode()
