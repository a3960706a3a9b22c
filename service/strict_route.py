"""The route class of routers with JSON bodies: they are parsed strictly before the framework sees them."""

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from warpwright.service.app_context import Context
from warpwright.service.errors import UnsupportedMedia
from warpwright.service.guarded_route import GuardedRoute
from warpwright.service.strict_json import parse_json

__all__ = ["StrictRoute"]

INLINE_BYTES = 64 << 10
"""Larger bodies are parsed in a thread: the event loop answers probes and streams meanwhile."""


class StrictRoute(GuardedRoute):
    """A route whose body is strict JSON."""

    async def read_body(self, request: Request) -> None:
        """Parses the body, if the route takes one.

        Raises:
            UnsupportedMedia: it is not declared as JSON. BadRequest, TooLarge: see ``parse_json``.
        """
        if self.body_field is None:
            return
        body = await request.body()
        if not body:
            return
        media_type = request.headers.get("content-type", "nothing")
        if "json" not in media_type.lower():
            message = f"the body is declared as {media_type[:100]!r}; send 'Content-Type: application/json'"
            raise UnsupportedMedia(message, place="Content-Type")
        context: Context = request.app.state.context
        most = context.settings.max_body_values
        # Request.json() returns this attribute; the framework would replace these errors with its own.
        if len(body) <= INLINE_BYTES:
            request._json = parse_json(body, most)
        else:
            request._json = await run_in_threadpool(parse_json, body, most)
