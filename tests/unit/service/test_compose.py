"""The compose file's commands are those of the command line, and its variables those of the settings."""

import shutil
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from warpwright.cli.main import app
from warpwright.service.settings import DEFAULT_PORT, Settings
from warpwright.tuning.task_runners.queues import QUEUES

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docker-compose.yml"
NOT_SETTINGS = {"WARPWRIGHT_TOKEN", "OTEL_EXPORTER_OTLP_ENDPOINT"}
"""Read by workers (``warpwright.cli.worker``), and by OpenTelemetry (``warpwright.tuning.telemetry``)."""


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
    assert parsed.task_runner == "celery"


def test_the_pieces_are_there() -> None:
    services = compose()["services"]
    assert set(services) == {"service", "compile-worker", "gpu-worker", "postgres", "redis"}
    assert services["service"]["ports"] == [f"{DEFAULT_PORT}:{DEFAULT_PORT}"]


def test_the_workers_cover_every_queue() -> None:
    services = compose()["services"]
    commands = [services[name]["command"] for name in ("compile-worker", "gpu-worker")]
    taken = {each for command in commands for each in command[command.index("--capabilities") + 1].split(",")}
    assert taken == {*QUEUES, "measure"}


def test_images_have_the_extras_of_what_they_do() -> None:
    services = compose()["services"]
    extras = {
        name: set(services[name]["build"]["args"]["EXTRAS"].split(","))
        for name in services
        if "build" in services[name]
    }
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set().union(*extras.values()) <= set(known)
    assert {"serve", "cluster", "postgres"} <= extras["service"]
    assert {"solve", "kernels", "cluster"} <= extras["compile-worker"] & extras["gpu-worker"]


def test_whatever_waits_for_a_service_waits_for_one_that_can_say_it_is_ready() -> None:
    services = compose()["services"]
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}, name
            assert "healthcheck" in services[other], other


def composers() -> list[list[str]]:
    """Whatever is here that reads compose files: docker's plugin, or the older program, which needs no daemon for it."""
    found = []
    docker = shutil.which("docker")
    if docker and not subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        found.append([docker, "compose"])
    if older := shutil.which("docker-compose"):
        found.append([older])
    return found


def test_what_reads_compose_files_accepts_it() -> None:
    for composer in composers():  # none on most CI images; what it would check is checked above as far as it goes
        command = [*composer, "-f", str(FILE), "--profile", "gpu", "config"]
        checked = subprocess.run(command, capture_output=True, check=False, text=True)
        assert checked.returncode == 0, checked.stderr
        resolved = yaml.safe_load(checked.stdout)["services"]
        assert set(resolved) == set(compose()["services"])
        assert resolved["gpu-worker"]["environment"]["WARPWRIGHT_SERVICE_URL"] == f"http://service:{DEFAULT_PORT}"


def dockerfile() -> list[list[str]]:
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def test_what_the_image_copies_is_there_and_is_all_that_it_installs() -> None:
    copied = [source for words in dockerfile() if words[0] == "COPY" for source in words[1:-1]]
    assert [source for source in copied if not (ROOT / source).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {package.removesuffix("*") for package in packages} <= set(copied)
    assert {project["project"]["readme"], "constraints.txt", "pyproject.toml"} <= set(copied)
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert kept == set(copied)


def test_the_image_runs_as_somebody_and_its_extras_exist() -> None:
    instructions = dockerfile()
    words = [words[0] for words in instructions]
    assert instructions[words.index("USER")][1] not in ("root", "0")
    assert words.index("USER") < words.index("ENTRYPOINT")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    asked = [service["build"]["args"]["EXTRAS"] for service in compose()["services"].values() if "build" in service]
    asked += [words[1].partition("=")[2] for words in instructions if words[:1] == ["ARG"] and "EXTRAS" in words[1]]
    assert {extra for each in asked for extra in each.split(",")} <= set(known)
    torch = next(each for each in known["kernels"] if each.startswith("torch=="))
    assert torch == f"torch=={compose()['services']['gpu-worker']['build']['args']['TORCH']}"
