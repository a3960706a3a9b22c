"""The outermost layer, one plain ASGI middleware: trace ids, size limit, host check, metrics, one log line per request.

One class instead of five nested ones, because every layer slows down each cached lookup.
"""

import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

import structlog
from prometheus_client import Counter, Histogram
from structlog.contextvars import bound_contextvars

from warpwright.service.body_limits import body_limit
from warpwright.service.errors import BadRequest, ServiceError, TooLarge
from warpwright.service.problems import problem_response
from warpwright.service.settings import Settings, is_loopback
from warpwright.service.strict_json import is_storable
from warpwright.solver.domain import WarpwrightError
from warpwright.tuning import telemetry

__all__ = ["OuterMiddleware"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger("service.requests")

REQUESTS = Counter("warpwright_http_requests", "Answered requests.", ["method", "route", "status"])
SECONDS = Histogram("warpwright_http_seconds", "Time to the first byte of an answer.", ["route"])
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
"""Known methods: a request may name any method, and each would stay a time series for ever."""
_OF_PROXIES = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})


class OuterMiddleware:
    """Wraps the application. A client's ``traceparent`` (W3C) is continued; otherwise a trace begins here."""

    def __init__(self, app: Application, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._check_host = not settings.tokens_required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        trace = telemetry.trace_id() or _trace_of(headers)
        scope["trace_id"] = trace
        started = time.perf_counter()
        status = 500
        started_answer = False

        async def answered(message: Message) -> None:
            nonlocal status, started_answer
            started_answer = True
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-trace-id", trace.encode())]
                route = getattr(scope.get("route"), "path", "unmatched")
                method = scope["method"] if scope["method"] in _METHODS else "other"
                REQUESTS.labels(method, route, status).inc()
                SECONDS.labels(route).observe(time.perf_counter() - started)
            await send(message)

        with bound_contextvars(trace=trace):
            refusal = self._refusal(scope, headers)
            if refusal is not None:
                await problem_response(refusal, trace)(scope, receive, answered)
                return
            try:
                await self._app(scope, _limited(receive, self._limit_of(scope)), answered)
            except Exception as error:
                log.error("unexpected-error", path=scope["path"], exc_info=error)
                if started_answer:
                    raise
                fault = ServiceError("an unexpected error; see the log under this trace id")
                await problem_response(fault, trace)(scope, receive, answered)
            log.debug("request", method=scope["method"], path=scope["path"], status=status)

    def _limit_of(self, scope: Scope) -> int:
        return body_limit(scope["method"], scope["path"], self._settings)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> WarpwrightError | None:
        if not (_is_text(scope.get("raw_path", b"")) and _is_text(scope.get("query_string", b""))):
            message = "path and query must be percent-encoded UTF-8 without NUL characters"
            return BadRequest(message, code="address-text-invalid")
        length = headers.get(b"content-length", b"0")
        limit = self._limit_of(scope)
        if not length.isdigit():
            return BadRequest("Content-Length is not a number", code="content-length-invalid")
        if int(length) > limit:
            return TooLarge(f"the body has {int(length)} bytes, at most {limit} are allowed", code="body-too-large")
        if self._check_host and not _host_is_ours(headers.get(b"host", b"")):
            # Without tokens, a page in the user's browser must not reach the service under its own host name (DNS rebinding).
            return BadRequest("without tokens only requests to a loopback name are answered", code="host-not-allowed")
        if self._check_host and not _origin_is_ours(headers.get(b"origin")):
            return BadRequest("without tokens pages of other sites must not send requests", code="origin-not-allowed")
        if self._check_host and not headers.keys().isdisjoint(_OF_PROXIES):
            # A proxy on this machine forwards requests of the whole network, possibly under the loopback name.
            message = "this request came through a proxy: set WARPWRIGHT_REQUIRE_TOKENS, so that callers need a token"
            return BadRequest(message, code="proxy-not-allowed")
        return None


def _is_text(address: bytes) -> bool:
    """Whether a part of an address is text that a database can be asked for."""
    if address.isascii() and b"%" not in address:
        return b"\x00" not in address
    try:
        return is_storable(unquote_to_bytes(address).decode())
    except UnicodeDecodeError:
        return False


def _trace_of(headers: dict[bytes, bytes]) -> str:
    """The caller's trace where the header is valid (W3C Trace Context), else a new one."""
    sent = headers.get(b"traceparent")
    return (sent and telemetry.trace_id_in(sent.decode("latin-1"))) or secrets.token_hex(16)


def _host_is_ours(host: bytes) -> bool:
    name = host.decode("latin-1")
    name = name[: name.rfind("]") + 1] if name.startswith("[") else name.partition(":")[0]
    return is_loopback(name)


def _origin_is_ours(origin: bytes | None) -> bool:
    return origin is None or _host_is_ours(origin.partition(b"://")[2])


def _limited(receive: Receive, limit: int) -> Receive:
    """Counts a body without a length as it arrives, so that nothing above the limit is kept or parsed."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > limit:
                raise TooLarge(f"the body is longer than {limit} bytes", code="body-too-large")
        return message

    return counted
