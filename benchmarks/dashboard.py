"""Page times of the dashboard with many stored candidates: ``python -m benchmarks.dashboard`` prints one JSON object.

Fills a temporary SQLite database with ``--candidates`` rows (100,000 by default, 50 per job), starts a real server on a
loopback port, and reports for every page the median time to the whole answer in milliseconds, next to that of an empty page
(``/login``) in the same run. ``cpu_ms`` is the processor time of client and server together: what remains of the answer's time
on an idle machine, and does not grow when others use this one.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from functools import partial
from pathlib import Path

from benchmarks.kernels.graphs import gemm_graph
from benchmarks.ranking import schedule_of
from warpwright.service.db import WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Artifact, CandidateRow, Job, JobVariant, Kernel, Profile
from warpwright.service.settings import Settings
from warpwright.service.testing import StandInToolchain
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import dump

A_JOB = 50
SCHEDULE = dump(schedule_of(gemm_graph(4096, 4096, 4096, 128, 256, 64, 3, 2), 3, 2, 24, 240))
REPEATS = 9


def fill(session: WriteSession, *, first: int, jobs: int) -> None:
    """``jobs`` ended jobs with 50 measured candidates each, numbered from ``first``."""
    profile = session.rows(Profile.__table__.select().where(Profile.name == "h200"))[0].digest
    digest = "sha256:" + "0" * 64
    file = {"digest": digest, "media_type": "application/json", "bytes": 2, "created_at": now(), "last_used_at": now()}
    session.insert_missing(Artifact, [file])
    for number in range(first, first + jobs):
        job_id, ended = f"job_{number:012x}", now() - timedelta(minutes=number)
        session.add(Kernel(ir_hash=f"ir:{number}", name=f"kernel {number % 97}"))
        session.add(
            Job(
                id=job_id,
                name=f"kernel {number % 97}",
                state="done",
                work_digest=f"w{number}",
                profile_digest=profile,
                request={},
                started_at=ended - timedelta(seconds=40),
                ended_at=ended,
                created_at=ended - timedelta(minutes=1),
                done=A_JOB,
                total=A_JOB,
                candidate_count=A_JOB,
                ending="tuned",
                best=f"c{number}-3",
                note="measured",
            )
        )
        session.add(JobVariant(job_id=job_id, number=0, params={}, text_digest=digest, ir_hash=f"ir:{number}"))
        session.flush()
        session.add_all(candidate(job_id, number, place, profile) for place in range(A_JOB))


def candidate(job_id: str, number: int, place: int, profile: str) -> CandidateRow:
    """One measured candidate with documents of a real one's size."""
    kind = ("default", "role_based", "unspecialized")[place] if place < 3 else "scheduled"
    time_ns = 1e5 * (1 + ((place * 7919 + number) % 101) / 100)
    return CandidateRow(
        job_id=job_id, key=f"c{number}-{place}", number=place + 1, attempt=1, variant=0, kind=kind, outcome="measured",
        status="proven_optimal", forecast_ns=time_ns * 0.9, measured_ns=time_ns, schedule=SCHEDULE,
        certificate=None, structure={"depth": str(place % 5), "registers": "24/240"}, measurement={"median_ns": time_ns},
        report={"registers": 168}, not_honoured=[], failure=None, seconds={}, ir_hash=f"ir:{number}", profile=profile,
        toolchain="stand-in 1", constraint_set="1", protocol="gpu-1", verification="1", pins="none",
    )  # fmt: skip


def main() -> None:
    """Fill, ask, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=100_000)
    options = parser.parse_args()
    jobs = max(1, options.candidates // A_JOB)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), slow_artifact_sync=False, job_slots=0)
        with RunningService(settings, toolchain=StandInToolchain()) as running:
            for first in range(0, jobs, 100):
                count = min(100, jobs - first)
                running.context.database.write(partial(fill, first=first, jobs=count))
            pages = [
                "/login",
                "/",
                "/jobs",
                "/jobs?text=kernel+7",
                f"/jobs/job_{0:012x}",
                "/kernels",
                "/results",
                "/results?stale=true",
                "/history",
                "/profiles",
                "/model",
            ]
            times: dict[str, list[float]] = {page: [] for page in pages}
            cpu: dict[str, list[float]] = {page: [] for page in pages}
            for _ in range(REPEATS):
                for page in pages:
                    began, worked = time.perf_counter(), time.process_time()
                    answer = running.client.get(page)
                    times[page].append(1000 * (time.perf_counter() - began))
                    cpu[page].append(1000 * (time.process_time() - worked))
                    answer.raise_for_status()
    found = {
        "candidates": jobs * A_JOB,
        "load": [round(value, 1) for value in os.getloadavg()],
        "median_ms": _medians(times),
        "worst_ms": max(_medians(times).values()),
        "cpu_ms": _medians(cpu),
        "worst_cpu_ms": max(_medians(cpu).values()),
    }
    json.dump(found, sys.stdout, indent=1)
    print()


def _medians(values: dict[str, list[float]]) -> dict[str, float]:
    return {page: round(statistics.median(each), 1) for page, each in values.items()}


if __name__ == "__main__":
    main()
