"""Metrics of the service for Prometheus. Counters are updated when things happen; states and ages are read on request."""

import time
from collections.abc import Iterable
from datetime import timedelta

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from sqlalchemy import func, select

from warpwright.service.db import Database, ReadSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Job, Worker
from warpwright.service.jobs.states import JobState
from warpwright.tuning.events import CandidateEnded, Event, PhaseEntered

__all__ = ["ALIVE", "LOOKUPS", "EventCounter", "JobGauges"]

ALIVE = timedelta(seconds=60)
"""A worker with a heartbeat within this time counts as alive."""
_BUCKETS = (0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)

LOOKUPS = Counter("warpwright_lookups", "Result lookups by what they found.", ["answer"])
CANDIDATES = Counter("warpwright_candidates", "Candidates by outcome.", ["outcome"])
STEP_SECONDS = Histogram("warpwright_step_seconds", "Wall time of a candidate's steps.", ["step"], buckets=_BUCKETS)
PHASE_SECONDS = Histogram(
    "warpwright_phase_seconds", "Wall time of a job attempt's phases.", ["phase"], buckets=_BUCKETS
)


class EventCounter:
    """Counts the events of one attempt's tuning; call ``end`` when it is over, however it ended."""

    def __init__(self) -> None:
        self._phase, self._since = "", 0.0

    def __call__(self, event: Event) -> None:
        """Count one event."""
        if isinstance(event, PhaseEntered):
            self.end()
            self._phase, self._since = event.phase.value, time.monotonic()
        if isinstance(event, CandidateEnded):
            CANDIDATES.labels(event.candidate.outcome.value).inc()
            for step, seconds in event.candidate.seconds.items():
                STEP_SECONDS.labels(str(step)).observe(seconds)

    def end(self) -> None:
        """Ends the last phase."""
        if self._phase:
            PHASE_SECONDS.labels(self._phase).observe(time.monotonic() - self._since)
        self._phase = ""


class JobGauges:
    """Jobs by state, the age of the queue and workers by state, from the database, so that every process reports all of them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def collect(self) -> Iterable[Metric]:
        """Three gauges."""
        counts, oldest, workers = self._database.read(_numbers)
        jobs = GaugeMetricFamily("warpwright_jobs", "Jobs by state.", labels=["state"])
        for state in JobState:
            jobs.add_metric([state.value], counts.get(state.value, 0))
        yield jobs
        yield GaugeMetricFamily("warpwright_queue_age_seconds", "Age of the oldest queued job.", value=oldest)
        known = GaugeMetricFamily(
            "warpwright_workers", "Workers by state; silent: no recent heartbeat.", labels=["state"]
        )
        for name, number in workers.items():
            known.add_metric([name], number)
        yield known


def _numbers(session: ReadSession) -> tuple[dict[str, int], float, dict[str, int]]:
    counts = {row[0]: row[1] for row in session.rows(select(Job.state, func.count()).group_by(Job.state))}
    oldest = session.scalar(select(func.min(Job.created_at)).where(Job.state == JobState.QUEUED))
    workers = dict.fromkeys(("ready", "draining", "ill", "silent"), 0)
    for heard, draining, healthy in session.rows(select(Worker.heartbeat_at, Worker.draining, Worker.healthy)):
        state = "draining" if draining else "ready" if healthy else "ill"
        workers[state if now() - heard < ALIVE else "silent"] += 1
    return counts, (now() - oldest).total_seconds() if oldest is not None else 0.0, workers
