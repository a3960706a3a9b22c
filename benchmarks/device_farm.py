"""A farm on one machine with real devices: ``python -m benchmarks.device_farm --out DIR`` writes ``DIR/device_farm.json``.

The processes are those of ``docker-compose.yml``, started by the same commands: a Redis, ``warpwright serve`` with the runner
``celery``, one worker that builds, and one worker for each device. ``warpwright batch`` sends kernel files of ``examples/``. The
first device's worker is killed in the middle of its first session and started again; its session is handed out again. The batch
is sent once more in the end: every line must be answered by what the first one found. ``--simulated`` is a dry run: the stand-in
toolchain and simulated devices in the same processes.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from warpwright.client import Client
from warpwright.service.testing import stand_in_ir
from warpwright.service.testing.farm import TemporaryRedis
from warpwright.tuning.children import available_cores
from warpwright.tuning.testing.on_runner import SIMULATED

__all__ = ["main", "run"]

ROOT = Path(__file__).resolve().parents[1]
KERNELS: tuple[dict[str, Any], ...] = (
    {"file": "gemm.py", "settings": {"M": 4096, "N": 4096, "K": 4096}, "label": "gemm 4096"},
    {"file": "attention.py", "label": "attention"},
    {"file": "gemm.py", "settings": {"M": 8192, "N": 8192, "K": 8192}, "label": "gemm 8192"},
)
SIMULATED_WORKER = (
    "import json, sys; from warpwright.tuning.workers.celery_worker import run_worker; "
    "run_worker(sys.argv[1], ('measure.h200',), name=sys.argv[2], service_url=sys.argv[3], devices=json.loads(sys.argv[4]))"
)
READY_SECONDS = 120.0
INTO_A_SESSION = 3.0
"""Seconds from a session's start to the kill: its first candidates are being checked then."""


class Machine:
    """The processes of the farm, each in a group of its own; the logs of all, the database and the artifacts are kept."""

    def __init__(self, folder: Path, logs: Path, stack: ExitStack, *, devices: Sequence[int], simulated: bool) -> None:
        self.folder, self.logs, self.devices, self.simulated = folder, logs, devices, simulated
        broker = stack.enter_context(TemporaryRedis())
        self.broker_url, self.redis = broker.url, broker.client
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        stack.callback(self.end)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "WARPWRIGHT_DATA": str(logs / "data"),
            "WARPWRIGHT_BROKER_URL": self.broker_url,
            "WARPWRIGHT_SERVICE_URL": self.url,
            "WARPWRIGHT_TASK_RUNNER": "celery",
            "WARPWRIGHT_TOOLCHAIN": "stand_in_children" if simulated else "children",
            "WARPWRIGHT_JOB_SLOTS": str(len(KERNELS)),
            "WARPWRIGHT_PORT": str(port),
            "CUDA_VISIBLE_DEVICES": "",  # the service and the builders have none, as on machines of their own
        }

    def start(self, builders: int) -> None:
        """Start everything and wait until each capability is offered."""
        self._command("serve", "serve")
        self._command("build", "worker", "--capabilities", "solve,frontend,compile.cuda", "--slots", str(builders))
        for number in self.devices:
            self.start_device(number)
        until = time.monotonic() + READY_SECONDS
        with Client(self.url) as client:
            while len([worker for worker in _workers(client) if worker["alive"]]) <= len(self.devices):
                if time.monotonic() > until:
                    raise RuntimeError(f"the farm was not ready after {READY_SECONDS:.0f} s; see {self.logs}")
                time.sleep(0.2)

    def start_device(self, number: int) -> None:
        """The worker of one device, which sees no other."""
        name = f"gpu{number}"
        own = {"CUDA_VISIBLE_DEVICES": str(number), "WARPWRIGHT_LEASES": str(self.folder / name)}
        Path(self.folder, name).mkdir(exist_ok=True)
        if self.simulated:
            arguments = (self.broker_url, name, self.url, json.dumps([SIMULATED]))
            self._start(name, [sys.executable, "-c", SIMULATED_WORKER, *arguments], own)
        else:
            self._command(name, "worker", "--capabilities", "measure", "--name", name, own=own)

    def at_work(self, name: str) -> bool:
        """Whether this worker is running a task right now."""
        held = (self.redis.get(key) for key in self.redis.scan_iter("warpwright-working:*"))
        return any(bytes(holder).decode().startswith(f"{name}@") for holder in held if holder)  # type: ignore[arg-type]

    def kill(self, name: str) -> None:
        """SIGKILL to a worker and its pool at once, as when a machine goes down."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()

    def batch(self, lines: Path, results: Path) -> tuple["subprocess.Popen[bytes]", float]:
        """``warpwright batch``, running."""
        started = time.monotonic()
        command = ["batch", str(lines), "--profile", "h200", "--server", self.url, "--json", "-o", str(results)]
        return self._command(f"batch-{results.stem}", *command), started

    def end(self) -> None:
        """Stop everything, workers first; a process that does not end is killed."""
        for process in reversed(self.processes.values()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        until = time.monotonic() + 15.0
        for name, process in self.processes.items():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.1, until - time.monotonic()))
            self.kill(name)

    def _command(self, name: str, *arguments: str, own: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
        return self._start(name, [sys.executable, "-m", "warpwright", *arguments], own or {})

    def _start(self, name: str, command: Sequence[str], own: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        with (self.logs / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, env={**self.environment, **own}, start_new_session=True
            )
        return self.processes[name]


def run(
    out: Path, *, devices: Sequence[int], builders: int, seconds: float, candidates: int, simulated: bool
) -> dict[str, Any]:
    """The report; logs of every process, the database and the artifacts go to ``out``.

    Raises:
        RuntimeError: a part did not start, or the batch did not end in ``seconds``.
    """
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="warpwright-", ignore_cleanup_errors=True))
        )
        machine = Machine(folder, out, stack, devices=devices, simulated=simulated)
        machine.start(builders)
        lines = _lines(folder, seconds, candidates, simulated=simulated)
        batch, began = machine.batch(lines, out / "first.jsonl")
        killed = _kill_one(machine, f"gpu{devices[0]}", batch, seconds)
        _ended(batch, began, seconds)
        took = time.monotonic() - began
        again, began = machine.batch(lines, out / "second.jsonl")
        _ended(again, began, seconds)
        with Client(machine.url) as client:
            return {
                "schema": "warpwright.benchmark-device-farm/1",
                "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "simulated": simulated,
                "cores": available_cores(),
                "builders": builders,
                "devices": len(devices),
                "killed": killed,
                "batch_seconds": round(took, 1),
                "same_batch_again_seconds": round(time.monotonic() - began, 1),
                "lines": [_line(client, line) for line in _read(out / "first.jsonl")],
                "answered_alike_again": _answers(out / "first.jsonl") == _answers(out / "second.jsonl"),
                "workers": _workers(client),
            }


def _lines(folder: Path, seconds: float, candidates: int, *, simulated: bool) -> Path:
    """The batch file."""
    common = {"candidates": candidates, "seconds": seconds}
    path = folder / "kernels.jsonl"
    entries = [
        {"ir": stand_in_ir(f"farm_{number}", schedules=3), "label": kernel["label"]}
        if simulated
        else {**kernel, "file": str(ROOT / "examples" / kernel["file"])}
        for number, kernel in enumerate(KERNELS)
    ]
    path.write_text("".join(json.dumps({**entry, **common}) + "\n" for entry in entries))
    return path


def _kill_one(machine: Machine, name: str, batch: "subprocess.Popen[bytes]", seconds: float) -> dict[str, Any] | None:
    """Kill a device's worker in the middle of a session and start it again; None when it never got a task."""
    until = time.monotonic() + seconds
    while batch.poll() is None and time.monotonic() < until:
        if machine.at_work(name):
            time.sleep(0.0 if machine.simulated else INTO_A_SESSION)
            busy = machine.at_work(name)
            machine.kill(name)
            machine.start_device(machine.devices[0])
            return {"worker": name, "in_the_middle_of_a_session": busy}
        time.sleep(0.02)
    return None


def _ended(batch: "subprocess.Popen[bytes]", began: float, seconds: float) -> None:
    try:
        code = batch.wait(max(1.0, seconds - (time.monotonic() - began)))
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"the batch did not end within {seconds:.0f} s") from error
    if code:
        raise RuntimeError(f"warpwright batch ended with {code}")


def _line(client: Client, line: Mapping[str, Any]) -> dict[str, Any]:
    """A line's answer, with what was built and measured on the way."""
    job = client.job(str(line["job"]))
    rows = list(client.candidates(job.id))
    kept = ("label", "state", "ending", "note", "best", "kind", "measured_ns", "forecast_ns", "problem", "message")
    timed = [(row.measured_ns, row.kind) for row in rows if row.measured_ns is not None]
    return {
        **{name: line[name] for name in kept},
        "candidates": len(rows),
        "measured": len(timed),
        "fastest_ns_by_kind": {kind: time_ns for time_ns, kind in sorted(timed, reverse=True)},
        "outcomes": dict(sorted(Counter(row.outcome for row in rows).items())),
        "failures": [
            {"candidate": row.id, "structure": row.structure, **asdict(row.failure)} for row in rows if row.failure
        ],
        "other_sizes": {row.id: row.measurement["sizes"] for row in rows if row.measurement.get("sizes")},
        "attempts": len(job.attempts),
    }


def _workers(client: Client) -> list[dict[str, Any]]:
    kept = {"id", "capabilities", "devices", "healthy", "alive", "tasks_done", "last_error"}
    try:
        return [worker.model_dump(mode="json", include=kept) for worker in client.workers()]
    except Exception:  # noqa: BLE001 - asked from the start, when nobody answers yet
        return []


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _answers(path: Path) -> list[tuple[Any, ...]]:
    return [(row["label"], row["best"], row["measured_ns"]) for row in _read(path)]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def main() -> int:
    """Write the report and print it."""
    parser = argparse.ArgumentParser(description="A batch of real kernels through a farm on this machine's devices.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--devices", default="0", help="numbers, comma-separated")
    parser.add_argument("--builders", type=int, default=max(1, available_cores() - 2))
    parser.add_argument("--seconds", type=float, default=420.0, help="for a batch")
    parser.add_argument("--candidates", type=int, default=8, help="proposed schedules per job")
    parser.add_argument("--simulated", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    report = run(
        options.out,
        devices=[int(number) for number in options.devices.split(",")],
        builders=options.builders,
        seconds=options.seconds,
        candidates=options.candidates,
        simulated=options.simulated,
    )
    text = json.dumps(report, indent=1)
    (options.out / "device_farm.json").write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
