"""RFC 9457 problem documents: the one place where errors become HTTP answers.

``type`` is a URN of the stable code, ``code`` the code itself, ``place`` a JSON pointer, a profile path or a statement id.
An unexpected error becomes ``internal-error`` in ``warpwright.service.outer_middleware``, without its text: the log has
the traceback.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import DataError, SQLAlchemyError
from starlette.exceptions import HTTPException

from warpwright.service.db import DATABASE_AWAY
from warpwright.service.errors import BadRequest, InvalidRequest, ServiceError, Unavailable, status_of
from warpwright.service.methods import allowed_methods
from warpwright.solver.domain import WarpwrightError

__all__ = ["MEDIA_TYPE", "Problem", "install", "problem_of", "problem_response"]

MEDIA_TYPE = "application/problem+json"
log = structlog.get_logger(__name__)


class Problem(BaseModel):
    """An RFC 9457 problem document."""

    type: str = Field(examples=["urn:warpwright:problem:profile-missing-number"])
    title: str
    status: int
    code: str = Field(description="Stable, in kebab case; it never changes.")
    detail: str
    place: str | None = Field(None, description="JSON pointer, profile path or statement id.")
    errors: list[dict[str, Any]] | None = Field(None, description="All invalid fields, each with its place.")
    trace_id: str | None = None


def problem_of(error: WarpwrightError, trace_id: str | None = None) -> Problem:
    """The problem document of an expected error."""
    status = status_of(error)
    errors = getattr(error, "extra", {}).get("errors")
    return Problem(
        type=f"urn:warpwright:problem:{error.code}",
        title=status.phrase,
        status=status,
        code=error.code,
        detail=_plain(error.message),
        place=error.place,
        errors=errors,
        trace_id=trace_id,
    )


def problem_response(error: WarpwrightError, trace_id: str | None = None) -> JSONResponse:
    """The HTTP answer of an expected error."""
    problem = problem_of(error, trace_id)
    headers = error.headers if isinstance(error, ServiceError) else {}
    body = problem.model_dump(exclude_none=True)
    return JSONResponse(body, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    """Register the handlers."""
    handlers: dict[type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
        WarpwrightError: _expected,
        RequestValidationError: _invalid,
        HTTPException: _http,
        DataError: _not_storable,
        **dict.fromkeys(DATABASE_AWAY, _database),
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


async def _expected(request: Request, error: WarpwrightError) -> Response:
    return problem_response(error, _trace(request))


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    items = [
        {"place": _pointer(item["loc"]), "message": _plain(str(item["msg"])), "kind": str(item["type"])}
        for item in error.errors()[:50]
    ]
    first = items[0]
    return problem_response(
        InvalidRequest(first["message"], place=first["place"], extra={"errors": items}), _trace(request)
    )


async def _http(request: Request, error: HTTPException) -> Response:
    status = HTTPStatus(error.status_code)
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, f"http-{error.status_code}")
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # The framework names the methods of the first matching route; a path may have several.
        allowed = allowed_methods(request.app.openapi(), request.url.path)
        headers |= {"Allow": ", ".join(allowed)} if allowed else {}
    problem = ServiceError(str(error.detail), code=code, headers=headers)
    problem.status = status
    return problem_response(problem, _trace(request))


async def _not_storable(request: Request, error: DataError) -> Response:
    """The database refuses a value of the request: a number out of its range, or text that it has no form for."""
    log.warning("value-not-storable", error=str(error.orig))
    refused = BadRequest("a value of the request is outside what the database can hold", code="value-not-storable")
    return problem_response(refused, _trace(request))


async def _database(request: Request, error: SQLAlchemyError) -> Response:
    log.error("database-away", error=str(getattr(error, "orig", error)))
    away = Unavailable("the database does not answer", code="database-away", headers={"Retry-After": "2"})
    return problem_response(away, _trace(request))


def _trace(request: Request) -> str | None:
    trace: str | None = request.scope.get("trace_id")
    return trace


def _pointer(location: tuple[int | str, ...]) -> str:
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in location]
    return "/" + "/".join(parts[1:] if parts and parts[0] == "body" else parts)


def _plain(text: str) -> str:
    """Text without lone surrogates, which UTF-8 cannot represent."""
    return text.encode("utf-8", "replace").decode()
