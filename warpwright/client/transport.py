"""What both clients share: address, token, time limits, and how an answer or a lost connection becomes a value or an error."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
from pydantic import ValidationError

from warpwright.client.calls import Call, HttpAnswer
from warpwright.errors import ServerError, ServerUnreachable, foreign

__all__ = ["DELAYS", "STREAM_TIMEOUT", "Connection", "answer_of", "retry_delay", "unreachable"]

T = TypeVar("T")

DEFAULT_SERVER = "http://127.0.0.1:8753"
RETRY_STATUS = frozenset({429, 503})
DELAYS = (0.2, 1.0, 3.0)
"""Seconds before the first, second and third repetition."""
LONGEST_DELAY = 30.0
STREAM_TIMEOUT = {"connect": 10.0, "read": 60.0, "write": 10.0, "pool": 10.0}
"""Read timeout of event streams: the server sends a heartbeat more often than this."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server is and how long to wait for it. The token is never shown."""

    server: str = ""
    token: str | None = field(default=None, repr=False)
    seconds: float = 30.0
    retries: int = len(DELAYS)

    @property
    def base_url(self) -> str:
        """``server``, else ``WARPWRIGHT_SERVER``, else this machine's default port."""
        address = (self.server or os.environ.get("WARPWRIGHT_SERVER") or DEFAULT_SERVER).rstrip("/")
        try:
            httpx.URL(address)
        except httpx.InvalidURL as error:
            raise ServerUnreachable(
                f"{address!r} is not a valid address: {error}", code="server-address", place=address
            ) from error
        return address

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        token = (
            self.token or os.environ.get("WARPWRIGHT_TOKEN") or ""
        ).strip()  # a file's last line ends with a newline
        if not (token.isascii() and token.isprintable()):
            raise ServerError("the access token has characters that a token cannot have", code="token-invalid")
        return {"Authorization": f"Bearer {token}"} if token else {}

    def request(self, client: httpx.Client | httpx.AsyncClient, call: Call[T]) -> httpx.Request:
        """The call as a request of this client."""
        params = {name: value for name, value in call.params.items() if value is not None}
        return client.build_request(
            call.method,
            call.path,
            params=params,
            json=call.json,
            content=call.content,
            headers=dict(call.headers),
            timeout=httpx.Timeout(self.seconds + call.wait_seconds, connect=min(10.0, self.seconds)),
        )


def answer_of(response: httpx.Response, call: Call[T]) -> T:
    """The call's typed result.

    Raises:
        ServerError: a problem document, or an answer that did not come from a Warpwright server.
    """
    if response.is_success:
        try:
            return call.parse(HttpAnswer(response.status_code, response.content, _json(response)))
        except ValidationError as error:
            shown = f"{response.headers.get('content-type', 'no type')}: {response.text[:200]}"
            raise foreign(shown, status=response.status_code) from error
    problem = _json(response)
    if isinstance(problem, Mapping) and "code" in problem:
        place = problem.get("place")
        raise ServerError(
            str(problem.get("detail") or problem.get("title") or problem["code"]),
            status=response.status_code,
            code=str(problem["code"]),
            place=str(place) if place else None,
        )
    moved = f", moved to {response.headers['location']}" if "location" in response.headers else ""
    message = f"the server answered {response.status_code}{moved}: {response.text[:200]}"
    raise ServerError(message, status=response.status_code)


def retry_delay(call: Call[T], attempt: int, retries: int, response: httpx.Response | None) -> float | None:
    """Seconds until the call may be repeated; None if it must not be."""
    if attempt >= retries or not call.repeatable:
        return None
    if response is None:
        return DELAYS[min(attempt, len(DELAYS) - 1)]
    if response.status_code not in RETRY_STATUS:
        return None
    after = response.headers.get("Retry-After", "")
    return min(LONGEST_DELAY, float(after)) if after.isdigit() else DELAYS[min(attempt, len(DELAYS) - 1)]


def unreachable(base_url: str, error: httpx.RequestError) -> ServerUnreachable:
    """The error for a server that did not answer."""
    return ServerUnreachable(f"no answer from {base_url}: {str(error) or type(error).__name__}", place=base_url)


def _json(response: httpx.Response) -> Any:
    if "json" not in response.headers.get("content-type", ""):
        return None
    try:
        return response.json()
    except ValueError:
        return None
