"""Pages answer errors with pages: a message and a link back; a missing token leads to the login page."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response

from warpwright.service.dashboard.access import LoginNeeded
from warpwright.service.dashboard.rendering import page
from warpwright.service.errors import BadRequest, status_of
from warpwright.service.guarded_route import GuardedRoute
from warpwright.solver.domain import WarpwrightError

__all__ = ["PageRoute"]


class PageRoute(GuardedRoute):
    """A route whose expected errors become pages with the same status and code as the API's problem documents."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, wrapped."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except LoginNeeded:
                return RedirectResponse("/login", status_code=303)
            except RequestValidationError as invalid:
                first = invalid.errors()[0]
                error: WarpwrightError = BadRequest(str(first["msg"]), place="/".join(map(str, first["loc"])))
            except WarpwrightError as refused:
                error = refused
            return page(request, "error.html", status=status_of(error), error=error, code=status_of(error))

        return answer
