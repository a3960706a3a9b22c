"""The typed client of the HTTP service: :class:`Client` and :class:`AsyncClient` differ only where they wait."""

from warpwright.client.asynchronous import AsyncClient
from warpwright.client.synchronous import Client

__all__ = ["AsyncClient", "Client"]
