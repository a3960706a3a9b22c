"""A real server on a free loopback port, in a thread of this process; for tests of everything that talks HTTP."""

import socket
import threading
import time
from types import TracebackType

import httpx
import uvicorn

from warpwright.service.app import create_app
from warpwright.service.app_context import Context
from warpwright.service.settings import Settings
from warpwright.tuning.toolchain import Toolchain

__all__ = ["RunningService"]


class RunningService:
    """Use as a context manager. ``client`` is an ``httpx.Client`` bound to ``url``."""

    def __init__(self, settings: Settings, *, toolchain: Toolchain | None = None) -> None:
        # Named as TCP, or asyncio leaves Nagle's algorithm on, and each answer waits 40 ms for an acknowledgement.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.app = create_app(settings, toolchain=toolchain)
        config = uvicorn.Config(self.app, log_level="error", lifespan="on", timeout_graceful_shutdown=2)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        # Plain HTTP on loopback: reading the certificate store would take longer than most tests.
        self.client = httpx.Client(base_url=self.url, timeout=60.0, verify=False)

    @property
    def context(self) -> Context:
        """The service's parts."""
        context: Context = self.app.state.context
        return context

    def __enter__(self) -> "RunningService":
        self._thread.start()
        until = time.monotonic() + 30.0
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                raise RuntimeError("the service did not start")
            time.sleep(0.005)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self._server.should_exit = True
        self._thread.join(timeout=20.0)
        self._socket.close()
