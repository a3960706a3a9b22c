"""Live parts of the overview by server-sent events. A stream holds no database connection between two checks."""

import asyncio
from collections.abc import AsyncIterator

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from warpwright.service.app_context import Context
from warpwright.service.dashboard.rendering import render
from warpwright.service.dashboard.views.overview import overview, signature
from warpwright.service.jobs.waiting import StreamCount
from warpwright.service.tokens.repository import is_active

__all__ = ["overview_stream"]

KEEPALIVE_SECONDS = 15.0
LOOK_SECONDS = 1.0


async def overview_stream(request: Request, context: Context, count: StreamCount, caller_id: str) -> AsyncIterator[str]:
    """Events named ``overview`` with the rendered part, whenever its content has changed, while the caller's token is valid."""
    count.open += 1
    try:
        async for event in _events(request, context, caller_id):
            yield event
    finally:
        count.open -= 1


async def _events(request: Request, context: Context, caller_id: str) -> AsyncIterator[str]:
    seen, silence = "", 0.0
    while not (context.bulletin.closing or await request.is_disconnected()):
        if not await run_in_threadpool(context.database.read, lambda session: is_active(session, caller_id)):
            return
        current = await run_in_threadpool(context.database.read, signature)
        if current != seen:
            seen, silence = current, 0.0
            shown = await run_in_threadpool(context.database.read, overview)
            html = render("parts/overview.html", shown=shown)
            yield "event: overview\n" + "".join(f"data: {line}\n" for line in html.splitlines()) + "\n"
        elif silence >= KEEPALIVE_SECONDS:
            silence = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(LOOK_SECONDS)
        silence += LOOK_SECONDS
