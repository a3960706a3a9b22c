"""Live parts of pages by server-sent events. A stream holds no database connection between two checks."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from warpwright.service.app_context import Context
from warpwright.service.dashboard.rendering import render
from warpwright.service.dashboard.views.livejob import live_job, live_rows, rows_signature, signature_of
from warpwright.service.dashboard.views.overview import overview, signature
from warpwright.service.db import ReadSession
from warpwright.service.jobs.waiting import StreamCount
from warpwright.service.tokens.repository import is_active

__all__ = ["LivePart", "live_stream", "watched"]

KEEPALIVE_SECONDS = 15.0
LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LivePart:
    """What a stream is about: the name of its events, a text that changes with the content, and the rendered part."""

    event: str
    signature: Callable[[ReadSession], str]
    part: Callable[[ReadSession], str]


def watched(job: str, rows: list[str]) -> LivePart:
    """One job, some jobs of a list, or the overview if nothing is named."""
    if job:
        return LivePart(
            "job",
            lambda session: signature_of(session, job),
            lambda session: render("parts/jobnow.html", live=live_job(session, job)),
        )
    if rows:
        return LivePart(
            "rows",
            lambda session: rows_signature(session, rows),
            lambda session: render("parts/liverows.html", rows=live_rows(session, rows)),
        )
    return LivePart("overview", signature, lambda session: render("parts/overview.html", shown=overview(session)))


async def live_stream(
    request: Request, context: Context, count: StreamCount, caller_id: str, what: LivePart
) -> AsyncIterator[str]:
    """Events with the rendered part, whenever its content has changed, while the caller's token is valid."""
    count.open += 1
    try:
        async for event in _events(request, context, caller_id, what):
            yield event
    finally:
        count.open -= 1


async def _events(request: Request, context: Context, caller_id: str, what: LivePart) -> AsyncIterator[str]:
    seen, silence = "", 0.0
    while not (context.bulletin.closing or await request.is_disconnected()):
        if not await run_in_threadpool(context.database.read, lambda session: is_active(session, caller_id)):
            return
        current = await run_in_threadpool(context.database.read, what.signature)
        if current != seen:
            seen, silence = current, 0.0
            html = await run_in_threadpool(context.database.read, what.part)
            yield f"event: {what.event}\n" + "".join(f"data: {line}\n" for line in html.splitlines()) + "\n"
        elif silence >= KEEPALIVE_SECONDS:
            silence = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK_SECONDS)
        silence += LOOK_SECONDS
