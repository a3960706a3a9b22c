"""Errors of the service, as a tree. One handler (``warpwright.service.problems``) turns each into an RFC 9457
problem document.

::

    ServiceError                          status, code, message, place
    ├── BadRequest            400         bytes that are not a valid request
    │   └── InvalidRequest    422         a request with invalid fields
    ├── Unauthorized          401         no token, or an unknown one
    │   └── Forbidden         403         a known token without the scope
    ├── NotFound              404         no such resource (or not yours to see)
    ├── Conflict              409         the request contradicts what is stored
    ├── Gone                  410         it existed; retention or quarantine removed it
    ├── UnsupportedMedia      415         a body that is not declared as JSON
    ├── TooLarge              413         body, IR, batch or page above the limit
    ├── TooManyRequests       429         a limit on streams or queued jobs
    └── Unavailable           503         try again: draining, no database

Errors of the domain (``warpwright.solver.domain.WarpwrightError``: bad document, profile, pin, foreign code) keep their
own codes and become 422; only this module and :func:`status_of` decide a status.
"""

from http import HTTPStatus

from warpwright.solver.domain import DocumentError, ExtraMissing, SolverFault, WarpwrightError
from warpwright.tuning.outage import Outage

__all__ = [
    "BadRequest",
    "Forbidden",
    "Gone",
    "InvalidRequest",
    "NotFound",
    "ServiceError",
    "StateConflict",
    "TooLarge",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "UnsupportedMedia",
    "status_of",
]


class ServiceError(WarpwrightError):
    """Base of the service's expected errors; ``headers`` are sent with the problem document."""

    status: HTTPStatus = HTTPStatus.INTERNAL_SERVER_ERROR
    code = "internal-error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        place: str | None = None,
        headers: dict[str, str] | None = None,
        extra: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message, code=code, place=place)
        self.headers = headers or {}
        self.extra = extra or {}


class BadRequest(ServiceError):
    """The bytes are not a valid request: not JSON, NaN in it, nested too deep, a damaged cursor."""

    status = HTTPStatus.BAD_REQUEST
    code = "bad-request"


class InvalidRequest(BadRequest):
    """A field is missing, unknown, or out of range; ``errors`` lists all of them with their places."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "request-invalid"


class Unauthorized(ServiceError):
    """A token is required, and none, an unknown or a revoked one was sent."""

    status = HTTPStatus.UNAUTHORIZED
    code = "token-required"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message, code=code, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(ServiceError):
    """The token does not have the required scope."""

    status = HTTPStatus.FORBIDDEN
    code = "scope-missing"


class NotFound(ServiceError):
    """There is no such resource."""

    status = HTTPStatus.NOT_FOUND
    code = "not-found"


class StateConflict(ServiceError):
    """The request contradicts what is stored: an idempotency key with another body, a job that has ended."""

    status = HTTPStatus.CONFLICT
    code = "conflict"


class Gone(ServiceError):
    """The bytes no longer exist: removed by retention, or quarantined because their digest did not match."""

    status = HTTPStatus.GONE
    code = "gone"


class TooLarge(ServiceError):
    """The body, one IR, or a batch is above the configured limit; refused before it is parsed."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too-large"


class UnsupportedMedia(ServiceError):
    """The body is declared as something other than JSON; usually the header was forgotten."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    code = "media-type-unsupported"


class TooManyRequests(ServiceError):
    """A limit on open streams or on queued jobs is reached; try again later."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too-many-requests"


class Unavailable(ServiceError, Outage):
    """The service cannot answer now; try again later."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "unavailable"


def status_of(error: WarpwrightError) -> HTTPStatus:
    """The HTTP status of any expected error."""
    if isinstance(error, ServiceError):
        return error.status
    if isinstance(error, SolverFault):
        return HTTPStatus.INTERNAL_SERVER_ERROR
    if isinstance(error, Outage):
        return HTTPStatus.SERVICE_UNAVAILABLE
    if isinstance(error, ExtraMissing):
        return HTTPStatus.NOT_IMPLEMENTED
    if isinstance(error, DocumentError) and error.code == "document-not-json":
        return HTTPStatus.BAD_REQUEST
    return HTTPStatus.UNPROCESSABLE_ENTITY
