"""Stale results: finding them, and tuning them again with the inputs of the job that made them."""

from collections.abc import Mapping, Sequence

from warpwright.service.app_context import Context
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.db import ReadSession
from warpwright.service.db.models import StoredResult
from warpwright.service.errors import Gone
from warpwright.service.jobs import repository as job_rows
from warpwright.service.jobs.schemas import JobSubmission, SizeSubmission, VariantSubmission
from warpwright.service.jobs.submit import submit
from warpwright.service.pages import decode_cursor, encode_cursor, page_of
from warpwright.service.profiles import repository as profile_rows
from warpwright.service.profiles import service as profiles
from warpwright.service.results import repository
from warpwright.service.results.schemas import RefreshAnswer, RefreshRequest
from warpwright.solver.domain import WarpwrightError

__all__ = ["present", "refresh"]


def present(context: Context, columns: Sequence[str]) -> dict[str, Sequence[str]]:
    """The current values of columns: one per target family, because each has its own compilers."""
    with context.database.reading() as session:
        devices = [profiles.domain_profile(row) for row in profile_rows.one_a_family(session)]
    identities = [context.toolchain.identity(profile) for profile in devices]
    return {name: sorted({getattr(identity, name) for identity in identities}) for name in columns}


def refresh(context: Context, request: RefreshRequest, *, owner: str, trace: str) -> RefreshAnswer:
    """Submit the jobs of stale results again; jobs that already run are only named.

    Results of one job (a kernel family and its variants) are refreshed by one job. Results stay stale rows when their new ones
    exist, so the rest beyond the limit is reached by the cursor, not by repeating the request.
    """
    columns = present(context, request.stale)
    after = str(decode_cursor(request.cursor, str)[0]) if request.cursor is not None else None
    rows, more = context.database.read(lambda session: _stale(session, request, columns, after))
    jobs: list[str] = []
    failed: list[dict[str, str]] = []
    created = 0
    for source in dict.fromkeys(row.job_id for row in rows):
        try:
            submitted = submit(context, _submission_of(context, source), owner=owner, trace=trace)
        except WarpwrightError as error:
            failed.append({"job": source, "code": error.code, "message": error.message})
        else:
            jobs.append(submitted.job_id)
            created += submitted.created
    following = encode_cursor(rows[-1].key) if more else None
    return RefreshAnswer(jobs=jobs, created=created, failed=failed, more=more, next=following)


def _stale(
    session: ReadSession, request: RefreshRequest, columns: Mapping[str, Sequence[str]], after: str | None
) -> tuple[Sequence[StoredResult], bool]:
    profile = profiles.find(session, request.profile).digest if request.profile else None
    rows = repository.page(session, request.limit + 1, after=after, ir=request.ir_hash, profile=profile, stale=columns)
    return page_of(rows, request.limit)


def _submission_of(context: Context, job_id: str) -> JobSubmission:
    return context.database.read(lambda session: _again(session, context.store, job_id))


def _again(session: ReadSession, store: ArtifactStore, job_id: str) -> JobSubmission:
    """The submission that created a job, from the job's row."""
    job = job_rows.job(session, job_id)
    if job is None:
        raise Gone(f"job {job_id} was deleted", code="job-gone")
    budget = job.request["budget"]
    sizes = job_rows.sizes(session, job_id)
    return JobSubmission(
        variants=[
            VariantSubmission(
                ir=store.get(row.text_digest).decode(),
                params=row.params,
                sizes=[
                    SizeSubmission(name=size.name, ir=store.get(size.text_digest).decode())
                    for size in sizes.get(row.number, ())
                ],
            )
            for row in job_rows.variants(session, job_id)
        ],
        name=job.name,
        profile=job.profile_digest,
        pins=job.request["pins"],
        build_options=job.request.get("build_options", []),
        engine=job.request["engine"],
        seed=job.request["seed"],
        candidates=budget["candidates"],
        seconds=budget["wall_seconds"],
        measure=job.request["measure"],
    )
