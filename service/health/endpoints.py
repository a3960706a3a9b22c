"""Liveness, readiness, metrics."""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

from warpwright.service.app_context import ContextDep
from warpwright.service.db.migrate import require_head
from warpwright.service.errors import Unavailable
from warpwright.service.health.metrics import JobGauges
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import ReadCaller

router = APIRouter(tags=["health"], route_class=StrictRoute)


class Health(BaseModel):
    """State of the process for a probe."""

    status: str
    task_runner: str | None = Field(
        default=None, description="`unavailable`: jobs wait for the broker; all other requests are answered."
    )


@router.get("/healthz", response_model=Health, response_model_exclude_none=True)
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", response_model=Health, response_model_exclude_none=True)
def readyz(context: ContextDep) -> Health:
    """The process can answer: the database is reachable and at this revision, the artifact folder is writable.

    A broker that does not answer only makes jobs wait: the body says so, and callers need not go elsewhere.
    """
    try:
        require_head(context.database)
    except SQLAlchemyError as error:
        raise Unavailable("the database does not answer", code="database-away") from error
    context.store.check()
    return Health(status="ready", task_runner=None if context.toolchain.available() else "unavailable")


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
def metrics(context: ContextDep, caller: ReadCaller) -> Response:
    """Prometheus metrics: this process's counters, and jobs and queue from the database."""
    gauges = CollectorRegistry()
    gauges.register(JobGauges(context.database))
    return Response(generate_latest() + generate_latest(gauges), media_type=CONTENT_TYPE_LATEST)
