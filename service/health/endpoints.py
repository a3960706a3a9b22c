"""Liveness, readiness, metrics."""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

from warpwright.service.app_context import Context, ContextDep
from warpwright.service.db.migrate import require_head
from warpwright.service.errors import Unavailable
from warpwright.service.health.metrics import JobGauges
from warpwright.service.live_workers import CAPABILITIES
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import ReadCaller
from warpwright.service.work_pools import ProbePool

router = APIRouter(tags=["health"], route_class=StrictRoute)


class Health(BaseModel):
    """State of the process for a probe."""

    status: str
    task_runner: str | None = Field(
        default=None, description="`unavailable`: jobs wait for the broker; all other requests are answered."
    )
    missing: tuple[str, ...] | None = Field(
        default=None, description="Capabilities that no live worker offers: jobs that need them are refused, or wait."
    )


@router.get("/healthz", response_model=Health, response_model_exclude_none=True)
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", response_model=Health, response_model_exclude_none=True)
async def readyz(context: ContextDep, pool: ProbePool) -> Health:
    """The process can answer: the database is reachable and at this revision, the artifact folder is writable.

    A broker that does not answer only makes jobs wait: the body says so, and callers need not go elsewhere.
    """
    return await pool.run(_ready, context)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(context: ContextDep, caller: ReadCaller, pool: ProbePool) -> Response:
    """Prometheus metrics: this process's counters, and jobs and queue from the database."""
    return Response(await pool.run(_metrics, context), media_type=CONTENT_TYPE_LATEST)


def _ready(context: Context) -> Health:
    try:
        require_head(context.database)
    except SQLAlchemyError as error:
        raise Unavailable("the database does not answer", code="database-away") from error
    context.store.check()
    return Health(
        status="ready",
        task_runner=None if context.toolchain.available() else "unavailable",
        missing=context.toolchain.missing(CAPABILITIES) or None,
    )


def _metrics(context: Context) -> bytes:
    gauges = CollectorRegistry()
    gauges.register(JobGauges(context.database))
    return generate_latest() + generate_latest(gauges)
