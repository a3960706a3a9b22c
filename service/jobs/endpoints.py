"""Jobs over HTTP."""

from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from warpwright.service.app_context import ContextDep
from warpwright.service.errors import BadRequest, TooManyRequests
from warpwright.service.jobs import repository, service, views
from warpwright.service.jobs.import_results import tell
from warpwright.service.jobs.schemas import EventView, JobMode, JobState, JobSubmission, JobSummary, JobView
from warpwright.service.jobs.submit import submit
from warpwright.service.jobs.synchronous_answer import answer_now
from warpwright.service.jobs.waiting import stream, wait_for_end
from warpwright.service.page_parameters import DEFAULT_LIMIT, Cursor, Limit
from warpwright.service.pages import Page, decode_cursor, encode_cursor, page_of
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import ReadCaller, TuneCaller, WorkCaller
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.work_pools import SubmitPool, WorkPools

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=StrictRoute)

log = structlog.get_logger(__name__)

Wait = Annotated[float, Query(ge=0, le=600, allow_inf_nan=False, description="Seconds to wait for the job's end.")]


@router.post("", status_code=202, response_model=JobView, responses={200: {"model": JobView}})
async def create(
    submission: JobSubmission,
    request: Request,
    response: Response,
    context: ContextDep,
    caller: TuneCaller,
    pool: SubmitPool,
    idempotency_key: Annotated[
        str | None, Header(min_length=1, max_length=200, description="The same key again gives the same job.")
    ] = None,
) -> JobView:
    """Tune a kernel or a kernel family. 202 with a new job, 200 with the job that already does the same work."""
    pools: WorkPools = request.app.state.work_pools
    if submission.mode is JobMode.NOW:
        pools.solve.admit()  # before anything is stored
    submitted = await pool.run(
        submit, context, submission, owner=caller.id, trace=request.scope["trace_id"], key=idempotency_key
    )
    if not submitted.created:
        response.status_code = 200
    log.info("job-accepted", job=submitted.job_id, created=submitted.created)
    response.headers["Location"] = f"/v1/jobs/{submitted.job_id}"
    job = await run_in_threadpool(service.get, context, submitted.job_id)
    if submission.mode is JobMode.NOW:
        job.now = await pools.solve.run(answer_now, context, submission)
    return job


@router.get("", response_model=Page[JobSummary])
def list_jobs(
    context: ContextDep,
    caller: ReadCaller,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    state: Annotated[list[JobState] | None, Query(max_length=7)] = None,
    name: Annotated[str | None, Query(max_length=200)] = None,
    profile: Annotated[str | None, Query(max_length=100)] = None,
    owner: Annotated[str | None, Query(max_length=40)] = None,
) -> Page[JobSummary]:
    """Jobs, newest first."""
    before = str(decode_cursor(cursor, str)[0]) if cursor is not None else None
    with context.database.reading() as session:
        rows = repository.page(
            session,
            limit + 1,
            before=before,
            states=[s.value for s in state or ()],
            name=name,
            profile=profile,
            owner=owner,
        )
        jobs, more = page_of(rows, limit)
        return Page(items=views.summaries(session, jobs), next=encode_cursor(jobs[-1].id) if more else None)


@router.get("/{job_id}", response_model=JobView)
async def get_job(job_id: str, context: ContextDep, caller: ReadCaller, wait: Wait = 0.0) -> JobView:
    """One job; with `wait=` the answer comes once the job has ended, or with its state after so many seconds."""
    return await wait_for_end(context, job_id, wait)


@router.post("/{job_id}:cancel", response_model=JobView)
def cancel_job(job_id: str, context: ContextDep, caller: TuneCaller) -> JobView:
    """Stop a job. What it found so far stays as a partial answer. It continues if others asked for the same work."""
    return service.cancel(context, job_id, owner=caller.id, everyone=TokenScope.ADMIN in caller.scopes)


@router.post("/{job_id}:tell", response_model=JobView)
async def tell_job(job_id: str, results: dict[str, Any], context: ContextDep, caller: WorkCaller) -> JobView:
    """Results of a bundle that was measured elsewhere (`warpwright.bundle-results/1`). Sending the same document
    again changes nothing.
    """
    await run_in_threadpool(tell, context, job_id, results)
    return await run_in_threadpool(service.get, context, job_id)


@router.delete("/{job_id}", status_code=204)
def delete_job(job_id: str, context: ContextDep, caller: TuneCaller) -> None:
    """Remove an ended job with its candidates and events: your own, or as an administrator any."""
    service.delete(context, job_id, owner=caller.id, everyone=TokenScope.ADMIN in caller.scopes)


@router.get(
    "/{job_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Each event's `data` is the document that the log lists.",
            "content": {"text/event-stream": {}},
        }
    },
)
async def job_events(
    job_id: str,
    request: Request,
    context: ContextDep,
    caller: ReadCaller,
    last_event_id: Annotated[str | None, Header(max_length=20, description="Number of the last event seen.")] = None,
) -> StreamingResponse:
    """Server-sent events of a job until its end, resumable with `Last-Event-ID`."""
    after = 0
    if last_event_id:
        if not last_event_id.isascii() or not last_event_id.isdigit():
            raise BadRequest("Last-Event-ID must be an event's number", code="event-id-invalid", place="Last-Event-ID")
        after = min(int(last_event_id), 2**31 - 1)
    await run_in_threadpool(_check, context, job_id)
    count = request.app.state.streams
    if count.open >= context.settings.max_streams:
        raise TooManyRequests("too many event streams are open", code="too-many-streams", headers={"Retry-After": "5"})
    return StreamingResponse(
        stream(context, job_id, after, count, caller.id),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"},
    )


@router.get("/{job_id}/log", response_model=Page[EventView])
def job_log(
    job_id: str, context: ContextDep, caller: ReadCaller, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[EventView]:
    """A job's events as a list, for clients that poll."""
    after = int(decode_cursor(cursor, int)[0]) if cursor is not None else 0
    with context.database.reading() as session:
        service.find(session, job_id)
        rows, more = page_of(repository.events_after(session, job_id, after, limit + 1), limit)
        return Page(
            items=[views.event_view(row) for row in rows], next=encode_cursor(rows[-1].number) if more else None
        )


def _check(context: ContextDep, job_id: str) -> None:
    with context.database.reading() as session:
        service.find(session, job_id)
