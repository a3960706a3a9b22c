"""Metrics of the service for Prometheus. Counted where things happen; states and ages are read when somebody asks."""

from collections.abc import Iterable

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from sqlalchemy import func, select

from service.db import Database, ReadSession
from service.db.base import now
from service.db.models import Job, JobState
from service.tuning import CandidateEnded, Event

__all__ = ["LOOKUPS", "JobGauges", "count_event"]

LOOKUPS = Counter("warpwright_lookups", "Result lookups by what they found.", ["answer"])
CANDIDATES = Counter("warpwright_candidates", "Candidates by how they ended.", ["outcome"])
STEP_SECONDS = Histogram(
    "warpwright_step_seconds",
    "Wall time of a candidate's steps.",
    ["step"],
    buckets=(0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600),
)


def count_event(event: Event) -> None:
    """Count what a tuning reports."""
    if isinstance(event, CandidateEnded):
        CANDIDATES.labels(event.candidate.outcome.value).inc()
        for step, seconds in event.candidate.seconds.items():
            STEP_SECONDS.labels(str(step)).observe(seconds)


class JobGauges:
    """Jobs by state and the age of the queue, from the database, so that any process tells the whole truth."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def collect(self) -> Iterable[Metric]:
        """Two gauges."""
        counts, oldest = self._database.read(_numbers)
        jobs = GaugeMetricFamily("warpwright_jobs", "Jobs by state.", labels=["state"])
        for state in JobState:
            jobs.add_metric([state.value], counts.get(state.value, 0))
        yield jobs
        yield GaugeMetricFamily("warpwright_queue_age_seconds", "Age of the oldest queued job.", value=oldest)


def _numbers(session: ReadSession) -> tuple[dict[str, int], float]:
    counts = {row[0]: row[1] for row in session.rows(select(Job.state, func.count()).group_by(Job.state))}
    oldest = session.scalar(select(func.min(Job.created_at)).where(Job.state == JobState.QUEUED))
    return counts, (now() - oldest).total_seconds() if oldest is not None else 0.0
