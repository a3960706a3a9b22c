"""Dependencies of a route that run on the headers alone, before any byte of the body is read."""

from abc import ABC, abstractmethod
from typing import Any

from fastapi import Request

__all__ = ["BeforeBody"]


class BeforeBody(ABC):
    """``GuardedRoute`` calls it before the body is read, and the framework once more for its value, so it changes nothing."""

    @abstractmethod
    async def __call__(self, request: Request) -> Any:
        """The dependency's value, or the refusal of the request."""
