"""The base install is a client: it works without the packages of any extra, and whatever needs one says how to get it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.warpwright.installed import Installed
from warpwright.cli.exit_codes import ExitCode
from warpwright.service.settings import Settings
from warpwright.service.testing.running import RunningService
from warpwright.tuning.testing.toolchain import StandInToolchain, new_ir

KERNEL = """
import tilelang

def kernel():
    return tilelang
"""


@pytest.fixture
def base(tmp_path: Path) -> Installed:
    installed = Installed(tmp_path)
    (installed.home / "toy.json").write_text(new_ir(schedules=2))
    (installed.home / "kernel.py").write_text(KERNEL)
    return installed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    settings = Settings(data=tmp_path_factory.mktemp("data"), slow_artifact_sync=False)
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running


def test_the_hook_hides_what_is_installed(base: Installed) -> None:
    for module in ("fastapi", "sqlalchemy.orm", "ortools.sat", "z3", "tilelang"):
        done = base.python("-c", f"import {module}")
        assert "ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("tune", "--help"), ("profiles", "h200")])
def test_commands_without_a_server(base: Installed, arguments: tuple[str, ...]) -> None:
    done = base.warpwright(*arguments)
    assert (done.returncode, done.stderr) == (ExitCode.OK, "")
    assert done.stdout


def test_commands_with_a_server(base: Installed, server: RunningService) -> None:
    there = ("--server", server.url)
    tuned = base.warpwright("tune", "toy.json", "-p", "h200", "--out", "out", "--json", *there)
    assert tuned.returncode == ExitCode.OK, tuned.stderr
    document = json.loads(tuned.stdout)
    assert document["note"] == "compiled, not measured"
    assert (base.home / "out" / "report.html").is_file()
    shown = base.warpwright("tune", "toy.json", "-p", "h200", *there)
    assert shown.returncode == ExitCode.OK, shown.stderr
    assert "chosen: scheduled" in shown.stdout
    report = base.warpwright("report", document["job"], "-o", "page.html", *there)
    assert report.returncode == ExitCode.OK, report.stderr
    (base.home / "batch.jsonl").write_text(json.dumps({"file": "toy.json"}) + "\n")
    batch = base.warpwright("batch", "batch.jsonl", "-p", "h200", "-o", "results.csv", *there)
    assert batch.returncode == ExitCode.OK, batch.stderr
    workers = base.warpwright("workers", "list", *there)
    assert workers.returncode == ExitCode.OK, workers.stderr
    doctor = base.warpwright("doctor", "--json", *there)
    assert doctor.returncode == ExitCode.OK, doctor.stderr


CLIENTS = """
import asyncio
import os
import sys
from pathlib import Path

import httpx
import warpwright
from warpwright.client import AsyncClient, Client
from warpwright.errors import ServerError
from warpwright.remote import submission_of
from warpwright.solver.profiles import load_profile

kernel, profile = warpwright.read_kernel_file("toy.json"), load_profile("h200")
result = warpwright.tune(kernel, profile, server=os.environ["WARPWRIGHT_SERVER"])
print(result.note, len(result.candidates))

with Client() as client:
    job = client.wait(client.submit(submission_of(kernel, profile)).id, seconds=60.0)
    print(job.state.value, client.candidate(job.id, job.best).schedule.num_warps > 0)

async def asked():
    async with AsyncClient() as client:
        return [profile.name async for profile in client.profiles()]

print(len(asyncio.run(asked())) > 5)

def refuse(request):
    return httpx.Response(404, json={"code": "job-unknown", "detail": "there is none"})

with Client("http://fake.test", transport=httpx.MockTransport(refuse)) as client:
    try:
        client.job("job_none")
    except ServerError as error:
        print(error.status, error.code)

rooms = {name for name in sys.modules if name.startswith("warpwright.solver.")}
print(sorted({name.split(".")[2] for name in rooms}))
"""


def test_both_clients_in_a_program(base: Installed, server: RunningService) -> None:
    (base.home / "program.py").write_text(CLIENTS)
    done = base.python("program.py", server=server.url)
    assert done.returncode == 0, done.stderr
    tuned, job, profiles, refused, rooms = done.stdout.splitlines()
    assert tuned.startswith("compiled, not measured")
    assert (job, profiles, refused) == ("done True", "True", "404 job-unknown")
    assert rooms == "['domain', 'profiles']", "values and devices; no rule, no search, no engine"


LACKING = [
    (("tune", "toy.json", "-p", "h200"), "serve,kernels,solve"),
    (("lock", "toy.json", "-p", "h200"), "serve,kernels,solve"),
    (("batch", "batch.jsonl", "-p", "h200"), "serve,kernels,solve"),
    (("bundle", "toy.json", "-p", "h200", "-o", "b.tar"), "serve,kernels,solve"),
    (("tune", "kernel.py", "-p", "h200", "--server", "http://127.0.0.1:9"), "kernels"),
    (("solve", "toy.json", "-p", "h200"), "kernels,solve"),
    (("solve", "--problem", "toy.json"), "solve"),
    (("solve", "--scheduler-call", "toy.json"), "solve"),
    (("verify", "toy.json", "--kernel", "toy.json", "-p", "h200"), "kernels"),
    (("build", "--locked", "--out", "out"), "kernels"),
    (("report", "job_1"), "serve"),
    (("bundle", "job_1", "-o", "b.tar"), "serve"),
    (("batch", "batch_1"), "serve"),
    (("workers", "list"), "serve"),
    (("workers", "drain", "somebody"), "serve"),
    (("token", "create", "me"), "serve"),
    (("token", "list"), "serve"),
    (("serve",), "serve,kernels,solve"),
    (("serve", "--jobs", "0"), "serve"),
    (("worker",), "cluster,kernels,solve"),
    (("worker", "--capabilities", "solve"), "cluster,solve"),
]


@pytest.mark.parametrize(("arguments", "extras"), LACKING, ids=[" ".join(words) for words, _ in LACKING])
def test_a_command_that_lacks_an_extra_says_how_to_get_it(
    base: Installed, arguments: tuple[str, ...], extras: str
) -> None:
    (base.home / "batch.jsonl").write_text(json.dumps({"file": "toy.json"}) + "\n")
    done = base.warpwright(*arguments)
    assert done.returncode == ExitCode.MISSING, done.stderr
    assert "Traceback" not in done.stderr
    assert f"pip install 'warpwright[{extras}]'" in done.stderr
    assert "code extra-missing" in done.stderr


def test_with_json_the_error_is_a_document(base: Installed) -> None:
    done = base.warpwright("tune", "toy.json", "-p", "h200", "--json")
    document = json.loads(done.stdout)
    assert document["error"]["code"] == "extra-missing"
    assert "--server" in document["error"]["message"]


FUNCTIONS = """
import json
import warpwright
from warpwright.solver.domain import ExtraMissing

told = {}
calls = {
    "tune": lambda: warpwright.tune("toy.json", "h200"),
    "solve": lambda: warpwright.solve("toy.json", "h200"),
    "tuned": lambda: warpwright.tuned(profile="h200")(lambda: None),
    "read_kernel_file": lambda: warpwright.read_kernel_file("kernel.py"),
}
for name, call in calls.items():
    try:
        call()
    except ExtraMissing as error:
        told[name] = error.message
print(json.dumps(told))
"""


def test_a_function_that_lacks_an_extra_says_how_to_get_it(base: Installed) -> None:
    done = base.python("-c", FUNCTIONS)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    wanted = {
        "tune": "serve,kernels,solve",
        "solve": "kernels,solve",
        "tuned": "kernels",
        "read_kernel_file": "kernels",
    }
    assert told.keys() == wanted.keys()
    for name, extras in wanted.items():
        assert f"pip install 'warpwright[{extras}]'" in told[name]


SERVER = """
from pathlib import Path
from warpwright.service.settings import Settings
from warpwright.service.testing.running import RunningService

with RunningService(Settings(data=Path("data"), job_slots=0)) as service:
    print(service.client.get("/readyz").status_code, service.client.get("/").status_code)
    answer = service.client.post("/v1/solve", json={"ir": "{}", "profile": "h200"})
    print(answer.status_code, answer.json()["code"], answer.json()["detail"])
"""


def test_a_server_without_a_solver_serves_and_says_what_it_lacks(tmp_path: Path) -> None:
    done = Installed(tmp_path, "serve").python("-c", SERVER)
    assert done.returncode == 0, done.stderr
    ready, solved = done.stdout.splitlines()
    assert ready == "200 200"
    assert solved.startswith("501 extra-missing ")
    assert "pip install 'warpwright[kernels]'" in solved


WORKER = """
import warpwright.tuning.workers.celery_worker
import warpwright.tuning.solver_tasks
from warpwright.solver.engines import engine
print(engine().solve is not None)
"""


def test_a_worker_that_solves_needs_no_web_framework_and_no_tilelang(tmp_path: Path) -> None:
    done = Installed(tmp_path, "cluster", "solve").python("-c", WORKER)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
