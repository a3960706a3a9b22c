"""A batch's results as JSON lines or CSV, page by page: the answer starts at once and no database connection is held
between pages.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from warpwright.service.app_context import Context
from warpwright.service.batches import repository
from warpwright.service.batches.schemas import ResultFormat
from warpwright.service.db import ReadSession
from warpwright.service.db.models import BatchItem, CandidateRow, Job

__all__ = ["COLUMNS", "write"]

COLUMNS = (
    "line",
    "label",
    "job",
    "name",
    "state",
    "ending",
    "note",
    "partial",
    "best",
    "kind",
    "measured_ns",
    "forecast_ns",
    "forecast_cycles",
    "problem",
    "message",
)
PAGE = 200


def write(context: Context, batch_id: str, result_format: ResultFormat) -> Iterator[bytes]:
    """The lines of a batch in order, each with its answer so far."""
    if result_format is ResultFormat.CSV:
        yield _csv([COLUMNS])
    after = 0
    while True:
        with context.database.reading() as session:
            items = repository.items(session, batch_id, PAGE, after)
            rows = _rows(session, items)
        if not rows:
            return
        after = items[-1].line
        if result_format is ResultFormat.CSV:
            yield _csv([[_safe(row[name]) for name in COLUMNS] for row in rows])
        else:
            yield "".join(json.dumps(row) + "\n" for row in rows).encode()


def _rows(session: ReadSession, items: Sequence[BatchItem]) -> list[dict[str, Any]]:
    ids = sorted({item.job_id for item in items if item.job_id})
    jobs = {job.id: job for job in session.scalars(select(Job).where(Job.id.in_(ids)))}
    query = select(CandidateRow).join(Job, (Job.id == CandidateRow.job_id) & (Job.best == CandidateRow.key))
    best = {row.job_id: row for row in session.scalars(query.where(Job.id.in_(ids)))}
    return [_row(item, jobs.get(item.job_id or ""), best.get(item.job_id or "")) for item in items]


def _row(item: BatchItem, job: Job | None, best: CandidateRow | None) -> dict[str, Any]:
    problem = item.problem or (job.error if job is not None else None) or {}
    return {
        "line": item.line,
        "label": item.label,
        "job": item.job_id,
        "name": job.name if job else None,
        "state": job.state if job else "refused",
        "ending": job.ending if job else None,
        "note": job.note if job else "",
        "partial": job.partial if job else False,
        "best": job.best if job else None,
        "kind": best.kind if best else None,
        "measured_ns": best.measured_ns if best else None,
        "forecast_ns": best.forecast_ns if best else None,
        "forecast_cycles": best.forecast_cycles if best else None,
        "problem": problem.get("code"),
        "message": problem.get("detail") or problem.get("message"),
    }


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _safe(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula is quoted: names come from clients."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value
