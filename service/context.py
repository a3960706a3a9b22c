"""What every request needs, made once by the application factory and handed to endpoints by dependency."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from service.artifacts.store import ArtifactStore
from service.bulletin import Bulletin
from service.db import Database
from service.jobs.runner import Runner
from service.settings import Settings
from service.tuning.toolchain import Toolchain

__all__ = ["Context", "ContextDep"]


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of a running service."""

    settings: Settings
    database: Database
    store: ArtifactStore
    bulletin: Bulletin
    toolchain: Toolchain
    runner: Runner


async def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


ContextDep = Annotated[Context, Depends(_context)]
