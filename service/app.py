"""The application factory: settings in, a FastAPI application out. Nothing is started before the lifespan begins."""

import logging
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import OperationalError

from warpwright.service import problems
from warpwright.service.api_description import describe
from warpwright.service.app_context import Context
from warpwright.service.artifacts.endpoints import router as artifacts
from warpwright.service.artifacts.retention import Retention
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.batches.endpoints import router as batches
from warpwright.service.candidates.endpoints import router as candidates
from warpwright.service.change_notifier import Bulletin
from warpwright.service.dashboard import report_router, static_files, unknown_address
from warpwright.service.dashboard import router as dashboard
from warpwright.service.dashboard.login_failures import LoginFailures
from warpwright.service.data_folder import prepare_data_folder
from warpwright.service.db import Database
from warpwright.service.db.migrate import upgrade
from warpwright.service.errors import ServiceError, Unavailable
from warpwright.service.health.endpoints import router as health
from warpwright.service.jobs.endpoints import router as jobs
from warpwright.service.jobs.runner import Runner
from warpwright.service.jobs.waiting import StreamCount
from warpwright.service.logs import configure
from warpwright.service.outer_middleware import OuterMiddleware
from warpwright.service.profiles.endpoints import router as profiles
from warpwright.service.profiles.service import seed
from warpwright.service.results.endpoints import router as results
from warpwright.service.results.lookup_cache import HotLookup
from warpwright.service.settings import Settings
from warpwright.service.solve.endpoints import router as solve
from warpwright.service.tokens import repository as token_rows
from warpwright.service.tokens.endpoints import router as tokens
from warpwright.service.tokens.service import TokenCheck
from warpwright.service.version import API_VERSION
from warpwright.service.work_pools import WorkPools
from warpwright.service.workers.endpoints import router as workers
from warpwright.tuning import telemetry
from warpwright.tuning.toolchain import Toolchain

__all__ = ["TokensMissing", "create_app", "make_toolchain"]

DESCRIPTION = """Warpwright finds fast, provably legal execution schedules for accelerator kernels.

Errors are RFC 9457 problem documents with a stable `code` and a `place`. Lists are cursor pages. On loopback no token is needed.
"""


class TokensMissing(ServiceError):
    """The service would be reachable from other machines, but there is no token to protect it."""

    code = "tokens-missing"


def make_toolchain(settings: Settings, database: Database) -> Toolchain:
    """The toolchain that the settings name."""
    from warpwright.service.task_runner_choice import make_task_runner

    if settings.toolchain == "children":
        from warpwright.tuning.supervised_toolchain import ChildToolchain
        from warpwright.tuning.task_runners.farm import FarmDevices

        runner = make_task_runner(settings, database)
        return ChildToolchain(runner, memory_bytes=settings.child_memory_bytes, devices=FarmDevices(runner))
    from warpwright.service.testing import StandInToolchain

    if settings.toolchain != "stand_in_children":
        return StandInToolchain(device=settings.toolchain == "stand_in_device")
    from warpwright.tuning.task_runners.farm import FarmDevices
    from warpwright.tuning.testing.on_runner import SIMULATED, StandInOnRunner

    runner = make_task_runner(settings, database)
    here = [SIMULATED] if settings.task_runner == "local" else []
    return StandInOnRunner(runner, FarmDevices(runner, here), StandInToolchain(device=True))


def create_app(
    settings: Settings | None = None, *, toolchain: Toolchain | None = None, log_level: int = logging.INFO
) -> FastAPI:
    """The application. The database is upgraded and jobs start running when it starts.

    ``log_level``: lower levels are not logged; a service inside a command line tool logs warnings only.
    """
    settings = settings or Settings.from_environment()
    configure(settings.log_format, level=log_level)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            context = await run_in_threadpool(_start, settings, toolchain)
        except Exception as error:
            app.state.failure = error  # the server in between would only log it
            raise
        app.state.context = context
        app.state.token_check = TokenCheck(context.database)
        app.state.hot_lookup = HotLookup(context)
        app.state.work_pools = WorkPools(settings)
        app.state.login_failures = LoginFailures(settings.max_login_failures)
        retention = Retention(context.database, context.store, settings)
        retention.start()
        try:
            yield
        finally:
            retention.stop()
            app.state.hot_lookup.close()
            await run_in_threadpool(_stop, context)
            await run_in_threadpool(telemetry.flush)

    app = FastAPI(
        title="Warpwright",
        version=API_VERSION,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        # Spans of requests, if the process has a provider (warpwright.tuning.telemetry); one per request, none for probes.
        telemetry={"auto_configure": False, "operation_spans": False, "exclude": _untraced},
    )
    app.state.streams = StreamCount()
    problems.install(app)
    unknown_address.install(app)
    # The most frequent first: routes are tried in order.
    for router in (results, jobs, batches, candidates, solve, artifacts, profiles, workers, tokens, health):
        app.include_router(router)
    app.include_router(report_router)
    app.include_router(dashboard, include_in_schema=False)
    app.mount("/static", static_files)
    app.add_middleware(OuterMiddleware, settings=settings)
    describe(app)
    return app


def _untraced(scope: MutableMapping[str, Any]) -> bool:
    return str(scope.get("path", "")).startswith(("/healthz", "/readyz", "/metrics", "/static/"))


def _start(settings: Settings, toolchain: Toolchain | None) -> Context:
    prepare_data_folder(settings.data)
    database = Database(settings.url)
    try:
        upgrade(database)
        database.write(seed)
    except OperationalError as error:
        database.close()
        where = database.url.render_as_string(hide_password=True)
        raise Unavailable(f"{where} does not answer: {error.orig}", code="database-away") from error
    if settings.tokens_required and database.read(token_rows.active_count) == 0:
        database.close()
        way_out = "unset WARPWRIGHT_REQUIRE_TOKENS" if settings.require_tokens else "bind to 127.0.0.1"
        raise TokensMissing(
            f"listening on {settings.host} requires a token: create one with 'warpwright token create', or {way_out}"
        )
    store = ArtifactStore(settings.artifacts, sync=settings.slow_artifact_sync)
    bulletin = Bulletin()
    tools = toolchain or make_toolchain(settings, database)
    runner = Runner(settings, database, store, bulletin, tools)
    runner.start()
    return Context(settings, database, store, bulletin, tools, runner)


def _stop(context: Context) -> None:
    context.runner.stop()
    context.toolchain.close()
    context.database.close()
