"""Waiting for a job: long polling and server-sent events. Neither holds a database connection while it waits."""

import time
from collections.abc import AsyncIterator

from fastapi.concurrency import run_in_threadpool

from warpwright.service.app_context import Context
from warpwright.service.jobs import repository, views
from warpwright.service.jobs.schemas import EventView, JobView
from warpwright.service.jobs.service import find, get
from warpwright.service.jobs.states import ENDED
from warpwright.service.tokens import repository as token_rows

__all__ = ["HEARTBEAT_SECONDS", "StreamCount", "stream", "wait_for_end"]

HEARTBEAT_SECONDS = 15.0
PAGE = 200


class StreamCount:
    """How many event streams are open. Counted inside the generator, so a client that never reads takes no slot."""

    def __init__(self) -> None:
        self.open = 0


async def wait_for_end(context: Context, job_id: str, seconds: float) -> JobView:
    """The job once it has ended, or its state after so many seconds or when this server stops."""
    until = time.monotonic() + min(seconds, context.settings.max_wait_seconds)
    while True:
        job = await run_in_threadpool(get, context, job_id)
        left = until - time.monotonic()
        if job.state in ENDED or left <= 0 or context.bulletin.closing:
            return job
        await context.bulletin.wait(job_id, min(left, context.settings.poll_seconds))


async def stream(context: Context, job_id: str, after: int, count: StreamCount, caller_id: str) -> AsyncIterator[bytes]:
    """A job's events as server-sent events, after number ``after``, until the job has ended or the caller's token was revoked.

    Ids are the events' numbers, so a client that reconnects with ``Last-Event-ID`` gets every event exactly once.
    """
    count.open += 1
    try:
        # The first bytes at once: proxies and clients see that the stream is alive.
        yield b"retry: 1000\n\n"
        quiet_since = time.monotonic()
        while True:
            events, ended = await run_in_threadpool(_next, context, job_id, after, caller_id)
            for event in events:
                yield _encode(event)
                after = event.number
                quiet_since = time.monotonic()
            if not events and (ended or context.bulletin.closing):
                return
            if events:
                continue
            await context.bulletin.wait(job_id, context.settings.poll_seconds)
            if time.monotonic() - quiet_since >= HEARTBEAT_SECONDS:
                yield b": still here\n\n"
                quiet_since = time.monotonic()
    finally:
        count.open -= 1


def _next(context: Context, job_id: str, after: int, caller_id: str) -> tuple[list[EventView], bool]:
    with context.database.reading() as session:
        if not token_rows.is_active(session, caller_id):
            return [], True
        job = find(session, job_id)
        events = [views.event_view(event) for event in repository.events_after(session, job_id, after, PAGE)]
        return events, job.state in ENDED


def _encode(event: EventView) -> bytes:
    """The same document as in the list of events: fields of an event's candidate never collide with the event's own."""
    return f"id: {event.number}\nevent: {event.kind}\ndata: {event.model_dump_json()}\n\n".encode()
