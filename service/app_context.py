"""What every request needs, made once by the application factory and passed to endpoints as a dependency."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.change_notifier import Bulletin
from warpwright.service.db import Database
from warpwright.service.jobs.runner import Runner
from warpwright.service.settings import Settings
from warpwright.tuning.toolchain import Toolchain

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
