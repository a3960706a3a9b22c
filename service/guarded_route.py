"""The route class below all routers: who calls is known from the headers before any byte of a body is read."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from warpwright.service.before_body import BeforeBody
from warpwright.service.tokens.access import HeaderCheck, Needs
from warpwright.service.tokens.schemas import TokenScope

__all__ = ["GuardedRoute"]


class GuardedRoute(APIRoute):
    """Runs the checks of a route's headers, then reads its body, then calls the framework's handler.

    The framework would parse the body first, so that a caller without a token could make the service parse anything.
    """

    @property
    def header_checks(self) -> tuple[BeforeBody, ...]:
        """The checks among the route's dependencies, callers first; a route that declares ``x-scope`` has none, for speed."""
        found = [need.call for need in self.dependant.dependencies if isinstance(need.call, BeforeBody)]
        found.sort(key=lambda check: not isinstance(check, HeaderCheck))
        scope = (self.openapi_extra or {}).get("x-scope")
        return (*([Needs(TokenScope(scope))] if scope else []), *found)

    async def read_body(self, request: Request) -> None:
        """Reads what the framework must not read itself."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, called after the checks."""
        inner = super().get_route_handler()
        checks = self.header_checks

        async def handler(request: Request) -> Response:
            for check in checks:
                await check(request)
            await self.read_body(request)
            return await inner(request)

        return handler
