"""An address that nothing serves: a browser gets a page, everybody else the problem document."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from warpwright.service.dashboard.rendering import page
from warpwright.service.errors import NotFound

__all__ = ["install"]

API = "/v1"


def install(app: FastAPI) -> None:
    """Put the page before the handler of HTTP errors that the application has."""
    problems: Callable[[Request, Any], Awaitable[Response]] = app.exception_handlers[HTTPException]  # type: ignore[assignment]  # ours is asynchronous

    async def answer(request: Request, error: HTTPException) -> Response:
        if error.status_code != NotFound.status or not _from_a_browser(request):
            return await problems(request, error)
        missing = NotFound("there is no page at this address; the menu above has all of them")
        return page(request, "error.html", status=missing.status, error=missing, code=missing.status)

    app.add_exception_handler(HTTPException, answer)  # type: ignore[arg-type]  # called with its own kind of error only


def _from_a_browser(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and not f"{request.url.path}/".startswith(f"{API}/")
