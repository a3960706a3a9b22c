"""Batches over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from warpwright.service.app_context import ContextDep
from warpwright.service.batches import export, repository, service
from warpwright.service.batches.lines import read_lines
from warpwright.service.batches.schemas import BatchSummary, BatchView, ItemView, ResultFormat
from warpwright.service.guarded_route import GuardedRoute
from warpwright.service.page_parameters import DEFAULT_LIMIT, Cursor, Limit
from warpwright.service.pages import Page, decode_cursor, encode_cursor, page_of
from warpwright.service.tokens.access import ReadCaller, TuneCaller
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.work_pools import SubmitPool

router = APIRouter(prefix="/v1/batches", tags=["batches"], route_class=GuardedRoute)

BODY = {
    "requestBody": {
        "required": True,
        "description": "JSON lines, one job submission per line, each with an optional `label`; gzip is accepted.",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}


@router.post("", status_code=202, response_model=BatchView, responses={200: {"model": BatchView}}, openapi_extra=BODY)
async def create_batch(
    request: Request,
    response: Response,
    context: ContextDep,
    caller: TuneCaller,
    pool: SubmitPool,
    name: Annotated[str, Query(max_length=200)] = "",
) -> BatchView:
    """Submit many kernels at once. The same file again gives the same batch; identical lines share one job."""
    body = await request.body()
    encoding = request.headers.get("content-encoding", "").strip().lower()

    def create() -> tuple[str, bool]:
        lines = read_lines(body, encoding, context.settings)
        return service.create(context, lines, name, owner=caller.id, trace=request.scope["trace_id"])

    batch_id, created = await pool.run(create)
    if not created:
        response.status_code = 200
    response.headers["Location"] = f"/v1/batches/{batch_id}"
    return await run_in_threadpool(_view, context, batch_id)


@router.get("", response_model=Page[BatchSummary])
def list_batches(
    context: ContextDep, caller: ReadCaller, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[BatchSummary]:
    """Batches, newest first."""
    before = str(decode_cursor(cursor, str)[0]) if cursor is not None else None
    with context.database.reading() as session:
        rows, more = page_of(repository.page(session, limit + 1, before), limit)
        items = [
            BatchSummary(
                id=row.id, name=row.name, created_at=row.created_at, lines=repository.line_count(session, row.id)
            )
            for row in rows
        ]
        return Page(items=items, next=encode_cursor(rows[-1].id) if more else None)


@router.get("/{batch_id}", response_model=BatchView)
def get_batch(batch_id: str, context: ContextDep, caller: ReadCaller) -> BatchView:
    """One status for all lines: counts, progress, estimate."""
    return _view(context, batch_id)


@router.get("/{batch_id}/items", response_model=Page[ItemView])
def list_items(
    batch_id: str, context: ContextDep, caller: ReadCaller, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[ItemView]:
    """The lines of a batch and their jobs or problems."""
    after = int(decode_cursor(cursor, int)[0]) if cursor is not None else 0
    with context.database.reading() as session:
        service.find(session, batch_id)
        rows, more = page_of(repository.items(session, batch_id, limit + 1, after), limit)
        return Page(
            items=[ItemView(line=r.line, label=r.label, job=r.job_id, problem=r.problem) for r in rows],
            next=encode_cursor(rows[-1].line) if more else None,
        )


@router.get(
    "/{batch_id}/results",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}, "text/csv": {}}}},
)
def batch_results(
    batch_id: str,
    context: ContextDep,
    caller: ReadCaller,
    result_format: Annotated[ResultFormat, Query(alias="format")] = ResultFormat.JSONL,
) -> StreamingResponse:
    """The answers so far, one line for each line of the batch, as JSON lines or CSV."""
    with context.database.reading() as session:
        service.find(session, batch_id)
    media_type = "text/csv" if result_format is ResultFormat.CSV else "application/x-ndjson"
    return StreamingResponse(export.write(context, batch_id, result_format), media_type=media_type)


@router.post("/{batch_id}:cancel", response_model=BatchView)
def cancel_batch(batch_id: str, context: ContextDep, caller: TuneCaller) -> BatchView:
    """Stop a batch; what it found so far stays."""
    return service.cancel(context, batch_id, owner=caller.id, everyone=TokenScope.ADMIN in caller.scopes)


def _view(context: ContextDep, batch_id: str) -> BatchView:
    with context.database.reading() as session:
        return service.view(session, service.find(session, batch_id))
