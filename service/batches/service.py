"""Batches: a file of submissions becomes jobs under one status. A bad line is recorded and never ends the batch."""

import json
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from warpwright.service.app_context import Context
from warpwright.service.batches import repository
from warpwright.service.batches.lines import BatchLines
from warpwright.service.batches.schemas import BatchLine, BatchView
from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Batch, BatchItem
from warpwright.service.errors import Forbidden, InvalidRequest, NotFound, StateConflict
from warpwright.service.jobs.service import cancel as cancel_job
from warpwright.service.jobs.submit import Prepared, prepare, store
from warpwright.service.names import new_id
from warpwright.service.problems import problem_of
from warpwright.service.strict_json import parse_json
from warpwright.solver.domain import WarpwrightError

__all__ = ["cancel", "create", "find", "view"]

CHUNK = 100
"""Lines written in one transaction, so that other writers wait milliseconds, not for the whole batch."""


def create(context: Context, file: BatchLines, name: str, *, owner: str, trace: str) -> tuple[str, bool]:
    """The batch of a file, and whether it is new.

    The same file from the same owner is the same batch; if its first submission was cut off, the missing lines are added.

    Raises:
        StateConflict: ``batch-cancelled`` meanwhile.
    """
    lines, digest = file.lines, file.digest

    def begin(session: WriteSession) -> tuple[str, bool, int]:
        found = repository.by_digest(session, owner, digest)
        if found is not None:
            written = repository.items(session, found.id, 1, 0)
            return found.id, False, repository.line_count(session, found.id) if written else 0
        batch_id = new_id("batch")
        session.add(Batch(id=batch_id, owner=owner, name=name[:200], digest=digest))
        return batch_id, True, 0

    batch_id, created, written = context.database.write(begin)
    for start in range(written, len(lines), CHUNK):
        _write_chunk(context, batch_id, lines[start : start + CHUNK], owner=owner, trace=trace)
    context.runner.wake()
    return batch_id, created


def view(session: ReadSession, batch: Batch) -> BatchView:
    """A batch's status."""
    counts = repository.counts(session, batch.id)
    jobs, done, total = repository.progress(session, batch.id)
    ended_jobs, first, last = repository.pace(session, batch.id)
    ended = not set(counts) - {"done", "failed", "cancelled", "refused"}
    left = None
    if ended:
        left = 0.0
    elif ended_jobs and first is not None and last is not None:
        left = (last - first).total_seconds() / ended_jobs * (jobs - ended_jobs)
    return BatchView(
        id=batch.id,
        name=batch.name,
        created_at=batch.created_at,
        lines=sum(counts.values()),
        ended=ended,
        cancelled=batch.cancelled_at is not None,
        counts=counts,
        jobs=jobs,
        done=done,
        total=total,
        seconds_left=left,
    )


def find(session: ReadSession, batch_id: str) -> Batch:
    """The batch's row.

    Raises:
        NotFound: ``batch-unknown``.
    """
    batch = repository.get(session, batch_id)
    if batch is None:
        raise NotFound(f"there is no batch {batch_id[:80]!r}", code="batch-unknown")
    return batch


def cancel(context: Context, batch_id: str, *, owner: str, everyone: bool) -> BatchView:
    """Withdraw the batch's owner from its jobs; jobs that other owners or other batches wait for continue.

    Raises:
        Forbidden: ``batch-not-yours``; the caller is neither its owner nor may act for ``everyone``.
    """

    def mark(session: WriteSession) -> tuple[str, Sequence[str]]:
        batch = find(session, batch_id)
        if not everyone and batch.owner != owner:
            raise Forbidden(
                "the batch belongs to another token; its owner or an administrator may cancel it",
                code="batch-not-yours",
            )
        batch.cancelled_at = batch.cancelled_at or now()
        session.flush()
        return batch.owner, repository.only_here(session, batch)

    batch_owner, jobs = context.database.write(mark)
    for job_id in jobs:
        cancel_job(context, job_id, owner=batch_owner)
    return context.database.read(lambda session: view(session, find(session, batch_id)))


def _write_chunk(
    context: Context, batch_id: str, lines: Sequence[tuple[int, bytes]], *, owner: str, trace: str
) -> None:
    checked = list(_checked(context, lines))

    def work(session: WriteSession) -> None:
        if repository.locked(session, batch_id).cancelled_at is not None:
            raise StateConflict("the batch was cancelled while it was being submitted", code="batch-cancelled")
        for number, label, prepared, problem in checked:
            job_id = None
            if prepared is not None:
                job_id = store(session, context, prepared, owner=owner, trace=trace).job_id
            session.insert_missing(
                BatchItem,
                [{"batch_id": batch_id, "line": number, "label": label, "job_id": job_id, "problem": problem}],
            )

    context.database.write(work)


def _checked(
    context: Context, lines: Sequence[tuple[int, bytes]]
) -> Iterator[tuple[int, str, Prepared | None, dict[str, object] | None]]:
    for number, line in lines:
        label = ""
        try:
            document = parse_json(line, context.settings.max_body_values)
            if isinstance(document, dict) and isinstance(document.get("label"), str):
                label = document["label"][:200]
            yield number, label, prepare(context, BatchLine.model_validate(document), read=False), None
        except ValidationError as error:
            first = error.errors()[0]
            place = "/" + "/".join(str(part) for part in first["loc"])
            yield number, label, None, _problem(InvalidRequest(first["msg"], place=place))
        except WarpwrightError as error:
            yield number, label, None, _problem(error)


def _problem(error: WarpwrightError) -> dict[str, object]:
    problem: dict[str, object] = json.loads(problem_of(error).model_dump_json(exclude_none=True))
    return problem
