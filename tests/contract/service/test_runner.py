"""The runner when its own lease runs out while it works: two slots of one process, one job, one result."""

import time
from pathlib import Path

from sqlalchemy import select

from warpwright.service.app_context import Context
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.change_notifier import Bulletin
from warpwright.service.db import Database
from warpwright.service.db.models import CandidateRow, Job, JobAttempt, JobEvent
from warpwright.service.jobs.runner import Runner
from warpwright.service.jobs.schemas import JobSubmission
from warpwright.service.jobs.submit import submit
from warpwright.service.profiles.service import seed
from warpwright.service.settings import Settings
from warpwright.service.testing import StandInToolchain, new_ir


def test_a_job_taken_over_by_another_slot_of_the_same_process_ends_once(database: Database, tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path,
        slow_artifact_sync=False,
        job_slots=2,
        lease_seconds=1.0,
        heartbeat_seconds=0.4,
        max_attempts=1000,
    )
    database.write(seed)
    store, bulletin, tools = ArtifactStore(settings.artifacts, sync=False), Bulletin(), StandInToolchain()
    runner = Runner(settings, database, store, bulletin, tools)
    context = Context(settings, database, store, bulletin, tools, runner)
    job_id = submit(
        context, JobSubmission(ir=new_ir(schedules=3, seconds=0.25), profile="h200"), owner="", trace=""
    ).job_id
    # Heartbeats that do nothing: every lease of this process runs out while its job is being worked on.
    runner._renew = lambda claims: None  # type: ignore[method-assign]
    runner.start()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        job = database.read(lambda session: session.get(Job, job_id))
        if job is not None and job.state == "done":
            break
        time.sleep(0.05)
    # Both slots are alive and take the next job.
    after = submit(context, JobSubmission(ir=new_ir(schedules=0), profile="h200"), owner="", trace="").job_id
    while (
        time.monotonic() < until
        and database.read(lambda s: s.scalar(select(Job.state).where(Job.id == after))) != "done"
    ):
        time.sleep(0.05)
    runner.stop()
    with database.reading() as session:
        assert session.scalar(select(Job.state).where(Job.id == job_id)) == "done"
        assert session.scalar(select(Job.state).where(Job.id == after)) == "done"
        ends = [
            event
            for event in session.scalars(select(JobEvent).where(JobEvent.job_id == job_id, JobEvent.kind == "state"))
            if event.data["state"] == "done"
        ]
        assert len(ends) == 1
        assert len(session.scalars(select(CandidateRow).where(CandidateRow.job_id == job_id)).all()) == 6
        endings = session.scalars(select(JobAttempt.ending).where(JobAttempt.job_id == job_id)).all()
        assert endings.count("done") == 1
        assert None not in endings
