"""The route class of all routers: bodies are parsed strictly before the framework sees them."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from warpwright.service.errors import UnsupportedMedia
from warpwright.service.strict_json import parse_json

__all__ = ["StrictRoute"]


class StrictRoute(APIRoute):
    """The route class of all routers."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, called after the strict parser."""
        inner = super().get_route_handler()
        takes_json = self.body_field is not None

        async def handler(request: Request) -> Response:
            if takes_json:
                body = await request.body()
                media_type = request.headers.get("content-type", "nothing")
                if body and "json" not in media_type.lower():
                    message = f"the body is declared as {media_type[:100]!r}; send 'Content-Type: application/json'"
                    raise UnsupportedMedia(message, place="Content-Type")
                if body:
                    # Request.json() returns this attribute; the framework would replace these errors with its own.
                    request._json = parse_json(body)
            return await inner(request)

        return handler
