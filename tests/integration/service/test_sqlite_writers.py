"""Processes that read and then write the same SQLite file never see "database is locked" (bug case 77)."""

import multiprocessing
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from tests.contract.service.test_claims import add_job
from warpwright.service.db import Database, WriteSession, database
from warpwright.service.db.migrate import upgrade
from warpwright.service.db.models import JobAttempt
from warpwright.service.jobs.claims import Claim, claim, close_attempt, held

PROCESSES, THREADS, ROUNDS = 3, 4, 8
LEASE = timedelta(hours=1)


def end(session: WriteSession, claimed: Claim) -> None:
    """As a runner ends its attempt: read the job, then write."""
    held(session, claimed)
    close_attempt(session, claimed, "done")


def work(url: str, name: str, jobs: Any) -> None:
    """A server process: threads that insert jobs and claim others. Every lock error is raised, none is retried."""
    database._is_lock_race = lambda error: False
    opened = Database(url)

    def one(thread: int) -> list[str]:
        taken = []
        for _ in range(ROUNDS):
            opened.write(add_job)
            claimed = opened.write(lambda session: claim(session, f"{name}-{thread}", LEASE))
            if claimed is not None:
                taken.append(claimed.job_id)
                opened.write(lambda session, claimed=claimed: end(session, claimed))  # type: ignore[misc]
        return taken

    try:
        with ThreadPoolExecutor(THREADS) as pool:
            jobs.put([job for jobs_of_one in pool.map(one, range(THREADS)) for job in jobs_of_one])
    except Exception as error:  # noqa: BLE001 - the parent reports any
        jobs.put(f"{type(error).__name__}: {error}")
    opened.close()


def test_claims_and_inserts_of_many_processes_meet_no_lock(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    opened = Database(url)
    upgrade(opened)
    context = multiprocessing.get_context("spawn")
    jobs: Any = context.Queue()
    processes = [context.Process(target=work, args=(url, f"p{number}", jobs)) for number in range(PROCESSES)]
    stop = threading.Event()

    def read() -> None:
        while not stop.wait(0.02):
            opened.read(lambda session: session.scalars(select(JobAttempt)).all())

    reader = threading.Thread(target=read)
    reader.start()
    for process in processes:
        process.start()
    answers = [jobs.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(30)
    stop.set()
    reader.join()
    assert [answer for answer in answers if isinstance(answer, str)] == []
    taken = Counter(job for answer in answers for job in answer)
    assert len(taken) == PROCESSES * THREADS * ROUNDS, "each inserts before it claims, so there is one for everybody"
    assert set(taken.values()) == {1}
    opened.close()
