"""Load of the service, as one JSON object: ``python -m benchmarks.service [--quick] [--seconds S]``.

A server process of its own on the stand-in toolchain and SQLite; the client speaks HTTP/1.1 over plain sockets, because a
convenient client would be slower than the server. ``empty_rps`` is an empty FastAPI endpoint of the same application, behind
the same middleware, measured in turns with the cached lookup. Client and server share this machine's cores.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from warpwright.service.app import create_app
from warpwright.service.db import Database
from warpwright.service.db.base import now
from warpwright.service.db.migrate import upgrade
from warpwright.service.profiles.service import seed
from warpwright.service.results import repository
from warpwright.service.settings import Settings
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.postgresql import TemporaryPostgresql
from warpwright.solver.domain import Fingerprint, dumps
from warpwright.solver.domain.pins import Pins
from warpwright.solver.profiles import builtin_profile
from warpwright.tuning.children import available_cores

CONNECTIONS = 8
WRITERS = 50
TURNS = 12
LATENCY_TURNS = 60
STEPS = (1_000, 100_000, 1_000_000)


def serve(folder: str, port: int) -> None:
    """The server process."""
    app = create_app(_settings(Path(folder)), toolchain=StandInToolchain())

    @app.get("/empty")
    async def empty() -> dict[str, str]:
        return {}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def main() -> None:
    """Measure everything and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="smaller tables, for a quick look and for tests")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each throughput measurement")
    arguments = parser.parse_args()
    steps = (1_000, 10_000, 50_000) if arguments.quick else STEPS
    print(json.dumps(measure(steps, arguments.seconds, WRITERS), indent=1))


def measure(steps: Sequence[int], seconds: float, writers: int) -> dict[str, Any]:
    """All figures, in the order in which they are taken."""
    load_before = os.getloadavg()
    with _Server() as server:
        figures = _rates(server, seconds)
    figures |= _latencies(steps)
    with tempfile.TemporaryDirectory(prefix="warpwright-load-") as name:
        figures["writers"] = {
            "sqlite": _writers(f"sqlite:///{Path(name) / 'writers.db'}", writers),
            "postgresql": _writers_on_postgresql(writers),
        }
    averages = {"load_average_before": load_before[0], "load_average": os.getloadavg()[0]}
    figures["machine"] = {"cores": available_cores(), **averages}
    return figures


class _Server:
    """A server process with one tuned kernel; ``lookup`` is the request that finds it."""

    def __enter__(self) -> "_Server":
        self._folder = tempfile.TemporaryDirectory(prefix="warpwright-load-")
        self.folder, self.port = Path(self._folder.name), free_port()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=serve, args=(self._folder.name, self.port), daemon=True)
        self._process.start()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60.0, verify=False)
        until_up(self.client)
        ir = new_ir(schedules=4)
        self.job = self.client.post("/v1/jobs", json={"ir": ir, "profile": "h200"}).json()["id"]
        self.client.get(f"/v1/jobs/{self.job}", params={"wait": 60}).raise_for_status()
        found = self.client.post("/v1/results:lookup", json={"ir": ir, "profile": "h200"}).json()
        if not found["found"]:
            raise RuntimeError("the lookup finds nothing, there is nothing to measure")
        body = {"ir_hash": found["fingerprint"]["ir"], "profile": "h200"}
        self.lookup = _request("POST", "/v1/results:lookup", body)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._process.terminate()
        self._process.join(10)
        self._folder.cleanup()


def _rates(server: _Server, seconds: float) -> dict[str, Any]:
    empty = _request("GET", "/empty", None)
    rates: dict[str, list[float]] = {"lookup": [], "empty": []}
    # In turns, so that other load on the machine affects both.
    for _ in range(TURNS):
        rates["empty"].append(asyncio.run(_rate(server.port, empty, seconds / TURNS)))
        rates["lookup"].append(asyncio.run(_rate(server.port, server.lookup, seconds / TURNS)))
    lookup_rps, empty_rps = statistics.median(rates["lookup"]), statistics.median(rates["empty"])
    pairs = [of_lookup / of_empty for of_lookup, of_empty in zip(rates["lookup"], rates["empty"], strict=True)]
    return {
        "lookup_rps": round(lookup_rps, 1),
        "empty_rps": round(empty_rps, 1),
        "ratio": round(lookup_rps / empty_rps, 3),
        "ratio_of_turns": {"median": round(statistics.median(pairs), 3), "least": round(min(pairs), 3)},
        "submit_rps": round(_submit_rate(server.client, seconds), 1),
        "connections": CONNECTIONS,
    }


def _latencies(steps: Sequence[int]) -> dict[str, Any]:
    """A server for each size, all running, asked in turns, so that other load on the machine affects all of them equally."""
    with ExitStack() as running:
        servers = {step: running.enter_context(_Server()) for step in steps}
        for step, server in servers.items():
            _fill(server.folder / "warpwright.db", 0, step, server.job)
            asyncio.run(_rate(server.port, server.lookup, 0.2))
        samples: dict[int, list[float]] = {step: [] for step in steps}
        for turn in range(LATENCY_TURNS):
            for step in steps if turn % 2 else reversed(steps):
                samples[step].append(asyncio.run(_latency(servers[step].port, servers[step].lookup, 20)))
    growths = [last / first for first, last in zip(samples[steps[0]], samples[steps[-1]], strict=True)]
    medians = {str(step): round(statistics.median(samples[step]), 4) for step in steps}
    return {
        "latency_ms": medians,
        "latency_growth": round(medians[str(steps[-1])] / medians[str(steps[0])], 3),
        "latency_growth_of_turns": round(statistics.median(growths), 3),
        "latency_requests": 20 * LATENCY_TURNS,
    }


def _settings(folder: Path) -> Settings:
    return Settings(data=folder, slow_artifact_sync=False, job_slots=1, toolchain="stand_in")


def _request(method: str, path: str, body: dict[str, Any] | None) -> bytes:
    data = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(data)}\r\n"
    return (head + "content-type: application/json\r\n\r\n").encode() + data


async def _once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))


async def _rate(port: int, request: bytes, seconds: float) -> float:
    """Requests per second over several connections."""
    until = time.perf_counter() + seconds

    async def one() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        count = 0
        while time.perf_counter() < until:
            await _once(reader, writer, request)
            count += 1
        writer.close()
        return count

    begun = time.perf_counter()
    counts = await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    return sum(counts) / (time.perf_counter() - begun)


async def _latency(port: int, request: bytes, count: int) -> float:
    """Median milliseconds of one request at a time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        await _once(reader, writer, request)
        times.append((time.perf_counter() - begun) * 1e3)
    writer.close()
    return statistics.median(times)


def _submit_rate(client: httpx.Client, seconds: float) -> float:
    until = time.perf_counter() + seconds
    begun = time.perf_counter()
    count = 0
    while time.perf_counter() < until:
        client.post("/v1/jobs", json={"ir": new_ir(schedules=0), "profile": "h200"}).raise_for_status()
        count += 1
    return count / (time.perf_counter() - begun)


def _fill(path: Path, have: int, want: int, job_id: str) -> None:
    """Candidates and results straight into the tables: ten candidates a result, all of other kernels."""
    connection = sqlite3.connect(path, timeout=120)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(candidates)")]
    template = dict(zip(columns, connection.execute("SELECT * FROM candidates LIMIT 1").fetchone(), strict=True))
    result_columns = [row[1] for row in connection.execute("PRAGMA table_info(results)")]
    result = dict(zip(result_columns, connection.execute("SELECT * FROM results LIMIT 1").fetchone(), strict=True))
    template |= {"schedule": None, "certificate": None, "job_id": job_id}
    insert = f"INSERT INTO candidates VALUES ({','.join('?' * len(columns))})"
    insert_result = f"INSERT INTO results VALUES ({','.join('?' * len(result_columns))})"
    for start in range(have, want, 20_000):
        numbers = range(start, min(start + 20_000, want))
        connection.executemany(
            insert,
            (
                tuple((template | {"key": f"fill_{n}", "number": 1000 + n, "ir_hash": f"fill:{n // 10}"}).values())
                for n in numbers
            ),
        )
        connection.executemany(
            insert_result,
            (tuple((result | {"key": f"fill:{n}", "ir": f"fill:{n}"}).values()) for n in numbers if n % 10 == 0),
        )
        connection.commit()
    connection.close()


def _writers_on_postgresql(writers: int) -> dict[str, Any]:
    with TemporaryPostgresql() as server:
        return _writers(server.database(), writers)


def _writers(url: str, writers: int) -> dict[str, Any]:
    """Threads that write results of the same and of their own kernels at once: nothing lost, the best kept."""
    database = Database(url, pool_size=writers)
    upgrade(database)
    database.write(seed)
    rounds = 10
    barrier = threading.Barrier(writers)
    with ThreadPoolExecutor(writers) as pool:
        job_id = _job(database)

        def write(number: int) -> None:
            barrier.wait()
            for turn in range(rounds):
                for subject, time_ns in (("shared", 1000.0 + number + turn), (f"own-{number}-{turn}", 1.0)):
                    row = _row(job_id, subject, time_ns)
                    database.write(lambda session, row=row: repository.keep_better(session, row))  # type: ignore[misc]

        begun = time.perf_counter()
        list(pool.map(write, range(writers)))
        seconds = time.perf_counter() - begun
    stored = {row.ir: row for row in _all(database)}
    database.close()
    lost = 1 + writers * rounds - len(stored)
    return {
        "writers": writers,
        "writes_per_second": round(2 * writers * rounds / seconds, 1),
        "lost": lost,
        "best_kept": stored["shared"].time_ns == 1000.0,
    }


def _job(database: Database) -> str:
    from warpwright.service.db.models import Job
    from warpwright.service.jobs.states import JobState

    profile = builtin_profile("h200")
    job = Job(
        id="job_load",
        name="load",
        state=JobState.DONE,
        work_digest="sha256:load",
        profile_digest=profile.digest,
        request={},
    )
    database.write(lambda session: session.add(job))
    return "job_load"


def _row(job_id: str, subject: str, time_ns: float) -> dict[str, Any]:
    columns = {name: name for name in repository.COLUMNS} | {"ir": subject}
    return {
        "key": Fingerprint(**columns).key(),
        **columns,
        "pins_document": json.loads(dumps(Pins())),
        "name": "load",
        "job_id": job_id,
        "candidate": f"cand_{time_ns}",
        "measured": True,
        "time_ns": time_ns,
        "answer": "{}",
        "created_at": now(),
        "updated_at": now(),
    }


def _all(database: Database) -> list[Any]:
    rows: list[Any] = []
    after: str | None = None
    while True:
        page = database.read(lambda session, after=after: repository.page(session, 200, after=after))  # type: ignore[misc]
        rows += page
        if not page:
            return rows
        after = page[-1].key


def until_up(client: httpx.Client) -> None:
    """Wait for a server that starts; RuntimeError after a minute."""
    for _ in range(600):
        try:
            client.get("/healthz").raise_for_status()
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server did not start")


def free_port() -> int:
    """A port of the loopback that nobody listens on at the moment."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    main()
