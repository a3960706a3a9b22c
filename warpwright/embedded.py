"""The service inside this process: the same application on SQLite in the data folder, reached without a socket.

A local tuning is a job of it, so results are remembered, an interrupted job continues at the next call, and ``report`` and
``@tuned`` find it again. It does not listen on any port.
"""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import httpx

from warpwright.client import Client
from warpwright.service.app import create_app
from warpwright.service.settings import Settings
from warpwright.tuning.toolchain import Toolchain

__all__ = ["EMBEDDED", "EmbeddedTransport", "embedded_client"]

EMBEDDED = "http://localhost"
"""Address of the service in this process. No connection is ever made to it: every request goes through the transport."""

T = TypeVar("T")


class EmbeddedTransport(httpx.BaseTransport):
    """An httpx transport to an application that runs on an event loop in a thread of this process. It logs warnings only."""

    def __init__(self, settings: Settings, *, toolchain: Toolchain | None = None) -> None:
        self._app = create_app(settings, toolchain=toolchain, log_level=logging.WARNING)
        self._asgi = httpx.ASGITransport(self._app, raise_app_exceptions=False)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="embedded-service", daemon=True)
        self._thread.start()
        self._life: AbstractAsyncContextManager[Any] = self._app.router.lifespan_context(self._app)
        try:
            self._run(self._life.__aenter__())
        except BaseException:
            self._end_loop()
            raise

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends one request to the application and reads the whole answer."""
        request.read()
        return self._run(self._answer(request))

    def close(self) -> None:
        """Stops jobs (they stay resumable), closes the database, ends the thread."""
        if self._loop.is_closed():
            return
        try:
            self._run(self._life.__aexit__(None, None, None))
        finally:
            self._end_loop()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        copy = httpx.Request(request.method, request.url, headers=request.headers, content=request.content)
        response = await self._asgi.handle_async_request(copy)
        content = await response.aread()
        headers = [(name, value) for name, value in response.headers.raw if name.lower() != b"content-encoding"]
        return httpx.Response(response.status_code, headers=headers, content=content, request=request)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10.0)
        self._loop.close()


def embedded_client(settings: Settings | None = None, *, toolchain: Toolchain | None = None) -> Client:
    """A client of the service in this process; closing it stops the service. Its log goes to stderr, warnings only.

    Raises:
        SettingsError: an environment variable does not parse.
        ServiceError: the database cannot be opened or brought up to date.
    """
    transport = EmbeddedTransport(settings or Settings.from_environment(), toolchain=toolchain)
    return Client(EMBEDDED, seconds=600.0, retries=0, transport=transport)
