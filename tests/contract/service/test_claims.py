"""Claims and leases hold under concurrency, on both databases."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select

from warpwright.service.db import Database, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Job, JobAttempt, JobEvent, Profile, Share
from warpwright.service.jobs import repository
from warpwright.service.jobs.claims import Claim, LeaseLost, blamed_attempts, claim, held, release, renew
from warpwright.service.jobs.states import JobState
from warpwright.service.names import new_id
from warpwright.service.profiles import repository as profiles
from warpwright.solver.domain import digest_text
from warpwright.solver.profiles import builtin_profile

LEASE = timedelta(seconds=30)


def add_job(session: WriteSession, owner: str = "", priority: int = 0) -> str:
    profile = builtin_profile("h200")
    profiles.remember(session, profile, builtin=True)
    repository.level_share(session, owner)
    job_id = new_id("job")
    session.add(
        Job(
            id=job_id,
            owner=owner,
            name="x",
            state=JobState.QUEUED,
            priority=priority,
            work_digest=digest_text(job_id),
            profile_digest=profile.digest,
            request={},
        )
    )
    session.flush()
    return job_id


def take(database: Database, owner: str, lease: timedelta = LEASE) -> Claim | None:
    return database.write(lambda session: claim(session, owner, lease))


def test_each_job_is_claimed_once(database: Database) -> None:
    jobs = [database.write(add_job) for _ in range(60)]

    def work(number: int) -> list[str]:
        got: list[str] = []
        while (taken := take(database, f"worker-{number}")) is not None:
            assert taken.attempt == 1
            got.append(taken.job_id)
        return got

    with ThreadPoolExecutor(8) as pool:
        claimed = [job for jobs_of_one in pool.map(work, range(8)) for job in jobs_of_one]
    assert sorted(claimed) == sorted(jobs)
    attempts = database.read(lambda session: session.scalars(select(JobAttempt)).all())
    assert len(attempts) == 60


def test_an_expired_lease_is_taken_over_once_and_the_late_worker_is_rejected(database: Database) -> None:
    database.write(add_job)
    late = take(database, "slow", timedelta(seconds=-1))
    assert late is not None
    barrier = threading.Barrier(2)

    def reap(name: str) -> Claim | None:
        barrier.wait()
        return take(database, name)

    with ThreadPoolExecutor(2) as pool:
        taken = [c for c in pool.map(reap, ["reaper-1", "reaper-2"]) if c is not None]
    assert [c.attempt for c in taken] == [2]
    with pytest.raises(LeaseLost):
        database.write(lambda session: held(session, late))
    assert database.write(lambda session: renew(session, "slow", [late], LEASE)) == set()
    assert database.write(lambda session: held(session, taken[0]).attempt) == 2
    endings = database.read(
        lambda session: session.scalars(select(JobAttempt.ending).order_by(JobAttempt.attempt)).all()
    )
    assert list(endings) == ["lease-expired", None]


def test_a_renewed_lease_is_not_taken(database: Database) -> None:
    database.write(add_job)
    taken = take(database, "alive", timedelta(seconds=-1))
    assert taken is not None
    assert database.write(lambda session: renew(session, "alive", [taken], LEASE)) == {taken}
    assert take(database, "other") is None


def test_a_released_job_is_queued_again(database: Database) -> None:
    job_id = database.write(add_job)
    taken = take(database, "one")
    assert taken is not None
    database.write(lambda session: release(session, taken, "shutdown"))
    again = take(database, "two")
    assert again is not None
    assert (again.job_id, again.attempt) == (job_id, 2)


def test_higher_priority_first_then_the_least_served_owner_then_the_oldest(database: Database) -> None:
    def fill(session: WriteSession) -> None:
        for _ in range(4):
            add_job(session, "greedy")
            time.sleep(0.002)
        for _ in range(2):
            add_job(session, "modest")
            time.sleep(0.002)
        add_job(session, "greedy", priority=5)

    database.write(fill)
    owners: list[str] = []
    while (taken := take(database, "w")) is not None:
        job_id = taken.job_id
        owners.append(database.read(lambda session: session.scalar(select(Job.owner).where(Job.id == job_id))))  # noqa: B023
    assert owners == ["greedy", "modest", "greedy", "modest", "greedy", "greedy", "greedy"]


def test_whoever_was_away_is_owed_nothing(database: Database) -> None:
    def fill(session: WriteSession) -> None:
        session.add(Share(owner="busy", served=100))
        add_job(session, "busy")
        add_job(session, "newcomer")

    database.write(fill)
    served = database.read(lambda session: session.scalar(select(Share.served).where(Share.owner == "newcomer")))
    assert served == 100


def test_events_are_numbered_without_gaps_whoever_writes(database: Database) -> None:
    job_id = database.write(add_job)

    def write(number: int) -> int:
        return database.write(lambda session: repository.add_event(session, job_id, 0, "test", {"n": number}))

    with ThreadPoolExecutor(8) as pool:
        numbers = sorted(pool.map(write, range(40)))
    assert numbers == list(range(1, 41))
    rows = database.read(lambda session: session.scalars(select(JobEvent.number)).all())
    assert sorted(rows) == numbers


def test_identical_work_meets_at_one_job(database: Database) -> None:
    def submit(number: int) -> str:
        return database.write(lambda session: repository.work_job(session, "sha256:work", f"job_{number}"))

    with ThreadPoolExecutor(8) as pool:
        holders = Counter(pool.map(submit, range(40)))
    assert len(holders) == 1


def test_readers_and_claimers_together_never_see_a_locked_database(database: Database) -> None:
    for _ in range(30):
        database.write(add_job)
    stop = threading.Event()
    errors: list[Exception] = []

    def read() -> None:
        while not stop.is_set():
            try:
                database.read(lambda session: session.scalars(select(Job)).all())
            except Exception as error:  # noqa: BLE001 - the test reports any
                errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()

    def write(number: int) -> None:
        database.write(add_job)
        taken = take(database, f"w{number}")
        if taken is not None:
            database.write(lambda session: release(session, taken, "again"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    stop.set()
    for reader in readers:
        reader.join()
    assert errors == []


def test_a_profile_is_stored_once(database: Database) -> None:
    profile = builtin_profile("h100")
    with ThreadPoolExecutor(8) as pool:
        new = list(pool.map(lambda _: database.write(lambda s: profiles.remember(s, profile, builtin=True)), range(16)))
    assert new.count(True) == 1
    assert len(database.read(lambda session: session.scalars(select(Profile)).all())) == 1


def test_times_come_back_with_their_zone(database: Database) -> None:
    before = now()
    job_id = database.write(add_job)
    job = database.read(lambda session: session.get(Job, job_id))
    assert job is not None
    assert job.created_at.tzinfo is not None
    assert abs(job.created_at - before) < timedelta(seconds=30)


def test_a_shutdown_costs_a_job_none_of_its_attempts(database: Database) -> None:
    database.write(add_job)

    def blamed(taken: Claim) -> int:
        return database.read(lambda session: blamed_attempts(session, taken, ("shutdown",)))

    for _ in range(3):
        taken = take(database, "a")
        assert taken is not None
        assert blamed(taken) == 0
        database.write(partial(release, claimed=taken, ending="shutdown"))
    died = take(database, "b", timedelta(seconds=-1))
    after = take(database, "c")
    assert died is not None
    assert after is not None
    assert (after.attempt, blamed(after)) == (5, 1), "its runner died"
