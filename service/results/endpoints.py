"""Stored results over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from warpwright.service.app_context import Context, ContextDep
from warpwright.service.health.metrics import LOOKUPS
from warpwright.service.page_parameters import DEFAULT_LIMIT, Cursor, Limit
from warpwright.service.pages import Page, decode_cursor, encode_cursor, page_of
from warpwright.service.profiles import service as profiles
from warpwright.service.results import repository, service
from warpwright.service.results.lookup_cache import HotLookup
from warpwright.service.results.refresh import present, refresh
from warpwright.service.results.schemas import (
    LookupAnswer,
    LookupRequest,
    RefreshAnswer,
    RefreshRequest,
    ResultView,
    StaleName,
)
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import ReadCaller, TuneCaller
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.work_pools import SubmitPool, WorkPools

router = APIRouter(prefix="/v1", tags=["results"], route_class=StrictRoute)


@router.post("/results:lookup", response_model=LookupAnswer, openapi_extra={"x-scope": TokenScope.READ.value})
async def lookup(body: LookupRequest, request: Request) -> Response:
    """The best verified result of a kernel on a device, or why there is none: nearest entries and what differs."""
    context: Context = request.app.state.context
    hot: HotLookup = request.app.state.hot_lookup
    answer = await hot.answer(body)
    found = answer is not None
    if answer is None:
        pools: WorkPools = request.app.state.work_pools
        by_hash = body.ir is None and body.variants is None  # reads no IR, so it takes milliseconds
        work = run_in_threadpool(_lookup, context, body) if by_hash else pools.lookup.run(_lookup, context, body)
        found, answer, ir_hash = await work
        if body.ir is not None:
            hot.learn(body.ir, ir_hash)
    LOOKUPS.labels("found" if found else "missing").inc()
    return Response(answer, media_type="application/json")


@router.get("/results", response_model=Page[ResultView])
def list_results(
    context: ContextDep,
    caller: ReadCaller,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    stale: Annotated[
        list[StaleName] | None, Query(max_length=4, description="Only results in which this column is stale.")
    ] = None,
    ir_hash: Annotated[str | None, Query(max_length=100)] = None,
    profile: Annotated[str | None, Query(max_length=100)] = None,
) -> Page[ResultView]:
    """Stored results; each says in which columns it is stale, with the stored and the current value."""
    after = str(decode_cursor(cursor, str)[0]) if cursor is not None else None
    columns = present(context, stale) if stale else None
    with context.database.reading() as session:
        digest = profiles.find(session, profile).digest if profile else None
        rows, more = page_of(
            repository.page(session, limit + 1, after=after, ir=ir_hash, profile=digest, stale=columns), limit
        )
        known = {
            row.profile: service.present_columns(context, profiles.domain_profile(profiles.find(session, row.profile)))
            for row in {row.profile: row for row in rows}.values()
        }
        return Page(
            items=[service.view(row, known[row.profile]) for row in rows],
            next=encode_cursor(rows[-1].key) if more else None,
        )


@router.post("/results:refresh", response_model=RefreshAnswer, status_code=202)
async def refresh_results(
    body: RefreshRequest, request: Request, context: ContextDep, caller: TuneCaller, pool: SubmitPool
) -> RefreshAnswer:
    """Tune stale results again with the current toolchain; the old ones stay until they are deleted."""
    return await pool.run(refresh, context, body, owner=caller.id, trace=request.scope["trace_id"])


def _lookup(context: Context, body: LookupRequest) -> tuple[bool, bytes, str]:
    answer, row = service.lookup(context, body)
    head = answer.model_dump_json(exclude={"result"})
    result = row.answer if row is not None else "null"
    return answer.found, f'{head[:-1]}, "result": {result}}}'.encode(), answer.fingerprint["ir"]
