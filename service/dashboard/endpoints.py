"""The dashboard's pages. They read; the few forms that change something go through the same services as the API."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from warpwright.service.app_context import Context, ContextDep
from warpwright.service.dashboard.access import FormReader, Reader, Tuner, check_origin
from warpwright.service.dashboard.drawings import drawing_of, pictures
from warpwright.service.dashboard.exports import csv_response
from warpwright.service.dashboard.forms import MAX_FIELDS, FormDep
from warpwright.service.dashboard.live import live_stream, watched
from warpwright.service.dashboard.login_failures import LoginFailures
from warpwright.service.dashboard.rendering import is_fragment, page
from warpwright.service.dashboard.routes import PageRoute
from warpwright.service.dashboard.views import catalogue, model
from warpwright.service.dashboard.views.compare import candidate_named, compare
from warpwright.service.dashboard.views.history import history_page
from warpwright.service.dashboard.views.joblist import PAGE, JobFilter, job_page, profile_choices
from warpwright.service.dashboard.views.jobpage import (
    SHOWN_CANDIDATES,
    candidate_of,
    job_detail,
    refusal_in,
    sorted_candidates,
    sources_of,
)
from warpwright.service.dashboard.views.livejob import live_job
from warpwright.service.dashboard.views.overview import overview
from warpwright.service.dashboard.views.plan import certificate_of
from warpwright.service.dashboard.why import explain_for_job
from warpwright.service.db import ReadSession
from warpwright.service.errors import TooManyRequests, Unauthorized
from warpwright.service.jobs import service as jobs
from warpwright.service.jobs.again import submission_again
from warpwright.service.jobs.submit import Submitted, submit
from warpwright.service.results.service import present_columns
from warpwright.service.tokens.access import COOKIE, caller_with
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import SESSION_PREFIX, TokenCheck, log_in, log_out
from warpwright.service.work_pools import SolvePool, SubmitPool
from warpwright.solver.domain import HardwareProfile, PinError
from warpwright.tuning.toolchain import StepFailed

router = APIRouter(include_in_schema=False, route_class=PageRoute)
ShownT = TypeVar("ShownT")
CSV_ROWS = 5000
Text = Annotated[str, Query(max_length=200)]


async def _wanted(
    text: Text = "", state: Text = "", profile: Text = "", owner: Text = "", period: Text = ""
) -> JobFilter:
    found = JobFilter(text.strip(), state, profile, owner.strip(), period)
    found.check()
    return found


Wanted = Annotated[JobFilter, Depends(_wanted)]


def _read(context: Context, work: Callable[[ReadSession], ShownT]) -> ShownT:
    return context.database.read(work)


@router.get("/")
def overview_page(request: Request, context: ContextDep, caller: Reader) -> HTMLResponse:
    """Running and recent jobs, queue, workers."""
    return page(request, "overview.html", shown=_read(context, overview))


@router.get("/live")
async def live(
    request: Request,
    context: ContextDep,
    caller: Reader,
    job: Text = "",
    row: Annotated[list[Text] | None, Query(max_length=PAGE)] = None,
) -> StreamingResponse:
    """A stream of changes: of one job, of rows of the list, or of the overview."""
    count = request.app.state.streams
    if count.open >= context.settings.max_streams:
        raise TooManyRequests("too many event streams are open", code="too-many-streams", headers={"Retry-After": "5"})
    if job:
        await run_in_threadpool(_read, context, lambda session: jobs.find(session, job))
    headers = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
    stream = live_stream(request, context, count, caller.id, watched(job, row or []))
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


@router.get("/jobs")
def jobs_page(
    request: Request,
    context: ContextDep,
    caller: Reader,
    wanted: Wanted,
    before: Text = "",
    told: Text = "",
    changed: Annotated[int, Query(ge=0, le=MAX_FIELDS)] = 0,
    left: Annotated[int, Query(ge=0, le=MAX_FIELDS)] = 0,
) -> HTMLResponse:
    """Jobs with filters and search; after a bulk action ``told``, ``changed`` and ``left`` say what it did."""
    shown = _read(context, lambda session: job_page(session, wanted, before))
    profiles = _read(context, profile_choices)
    told_of = {"told": told, "changed": changed, "left": left}
    return page(request, "jobs.html", shown=shown, wanted=wanted, profiles=profiles, before=before, told_of=told_of)


@router.get("/jobs.csv")
def jobs_csv(context: ContextDep, caller: Reader, wanted: Wanted) -> Response:
    """The newest jobs that match the same filters, as CSV."""
    rows = _read(context, lambda session: job_page(session, wanted, "", size=CSV_ROWS)).rows
    columns = (
        "id",
        "name",
        "profile",
        "state",
        "ending",
        "note",
        "done",
        "total",
        "best_ns",
        "measured",
        "gain",
        "created_at",
    )
    return csv_response(columns, ([getattr(row, name) for name in columns] for row in rows), "jobs.csv")


@router.post("/jobs")
def jobs_action(
    request: Request,
    context: ContextDep,
    caller: Tuner,
    form: FormDep,
) -> Response:
    """Cancels or deletes the chosen jobs; those in a state that does not allow it are left unchanged, and counted."""
    action, changed, left = form.text("action"), 0, 0
    everyone = TokenScope.ADMIN in caller.scopes
    for job_id in form.all("job"):
        with context.database.reading() as session:
            job = jobs.find(session, job_id)
            ended, owner = job.ended_at is not None, job.owner
        if action == "cancel" and not ended:
            jobs.cancel(context, job_id, owner=caller.id, everyone=everyone)
        elif action == "delete" and ended and (everyone or owner == caller.id):
            jobs.delete(context, job_id, owner=caller.id, everyone=everyone)
        else:
            left += 1
            continue
        changed += 1
    kept = {name: form.text(name) for name in ("text", "state", "profile", "owner", "period") if form.text(name)}
    told = urlencode(
        {**kept, "told": action if action in ("cancel", "delete") else "", "changed": changed, "left": left}
    )
    return RedirectResponse(f"/jobs?{told}", status_code=303)


@router.get("/jobs/{job_id}")
def job_detail_page(
    request: Request, context: ContextDep, caller: Reader, job_id: str, sort: Text = "number", down: bool = False
) -> HTMLResponse:
    """One job: funnel, charts, candidates, proof, schedule, downloads."""
    shown = _read(context, lambda session: job_detail(session, job_id))
    rows = sorted_candidates(shown.candidates, sort, down)[:SHOWN_CANDIDATES]
    sources = sources_of(context.store, shown.artifacts)
    live = _read(context, lambda session: live_job(session, job_id)) if shown.row.active else None
    return page(request, "job.html", shown=shown, rows=rows, sort=sort, down=down, sources=sources, live=live)


@router.post("/jobs/{job_id}/cancel")
def cancel_form(context: ContextDep, caller: Tuner, form: FormDep, job_id: str) -> Response:
    """Cancels a job from its page."""
    jobs.cancel(context, job_id, owner=caller.id, everyone=TokenScope.ADMIN in caller.scopes)
    return RedirectResponse(f"/jobs/{job_id}", status_code=303)


@router.post("/jobs/{job_id}/retune")
async def retune_form(
    request: Request, context: ContextDep, caller: Tuner, form: FormDep, job_id: str, pool: SubmitPool
) -> Response:
    """Submits a job's request again, as a job that takes no cached answer."""

    def retune() -> Submitted:
        submission = submission_again(context, job_id)
        return submit(context, submission, owner=caller.id, trace=str(request.scope.get("trace_id") or ""))

    again = await pool.run(retune)
    return RedirectResponse(f"/jobs/{again.job_id}", status_code=303)


@router.get("/jobs/{job_id}/drawing")
def drawing(request: Request, context: ContextDep, caller: Reader, job_id: str, key: Text = "") -> HTMLResponse:
    """Timeline and memory map of a candidate; of the winner without a key."""
    template = "parts/drawing.html" if is_fragment(request) else "drawing.html"
    return page(request, template, job_id=job_id, drawing=drawing_of(context, job_id, key))


@router.post("/jobs/{job_id}/why")
async def why_form(
    request: Request,
    context: ContextDep,
    caller: Tuner,
    job_id: str,
    form: FormDep,
    pool: SolvePool,
) -> HTMLResponse:
    """Why a choice is impossible, or what it costs."""
    answer: Mapping[str, object] = {}
    refused, why = "", form.text("why")
    try:
        answer = await pool.run(explain_for_job, context, job_id, form.number("variant"), why)
    except StepFailed as error:
        refused = error.failure.message
    except PinError as error:
        refused = error.message
    template = "parts/why.html" if is_fragment(request) else "why.html"
    return page(request, template, job_id=job_id, why=why, answer=answer, refused=refused)


@router.get("/jobs/{job_id}/candidates.csv")
def candidates_csv(context: ContextDep, caller: Reader, job_id: str) -> Response:
    """A job's candidates as CSV."""
    shown = _read(context, lambda session: job_detail(session, job_id))
    columns = ("number", "variant", "kind", "outcome", "status", "forecast_ns", "forecast_cycles", "measured_ns", "key")
    return csv_response(
        columns, ([getattr(row, name) for name in columns] for row in shown.candidates), "candidates.csv"
    )


@router.get("/jobs/{job_id}/candidates/{key}")
def candidate_page(request: Request, context: ContextDep, caller: Reader, job_id: str, key: str) -> HTMLResponse:
    """One candidate: the plan, the outcome, messages of compiler and device."""
    row, artifacts = _read(context, lambda session: candidate_of(session, job_id, key))
    certificate = certificate_of(row.certificate)
    return page(
        request, "candidate.html", row=row, artifacts=artifacts, certificate=certificate, refusal=refusal_in(row)
    )


@router.get("/compare")
def compare_page(
    request: Request,
    context: ContextDep,
    caller: Reader,
    a: Text = "",
    b: Text = "",
    c: Annotated[list[Text] | None, Query(max_length=SHOWN_CANDIDATES)] = None,
) -> HTMLResponse:
    """Two candidates side by side: ``a`` and ``b`` are ``job/candidate``, or a job for its winner; ``c`` are ticked ones."""
    ticked = c or []
    if ticked and len(ticked) <= 2:
        a, b = ticked[0], ticked[1] if len(ticked) == 2 else ticked[0].partition("/")[0]
    a, b = a.strip(), b.strip()
    shown = _read(context, lambda session: compare(session, context.store, a, b)) if a and b else None
    return page(request, "compare.html", shown=shown, a=a, b=b, ticked=len(ticked))


@router.get("/compare/drawings")
def compare_drawings(request: Request, context: ContextDep, caller: Reader, a: Text, b: Text) -> HTMLResponse:
    """The drawings of two candidates side by side, on one scale; ``a`` and ``b`` as on the compare page."""
    first, second = _read(context, lambda session: [candidate_named(session, name.strip()) for name in (a, b)])
    template = "parts/pair.html" if is_fragment(request) else "pair.html"
    return page(request, template, drawings=pictures(context, first, second), a=a, b=b)


@router.get("/kernels")
def kernels_page(request: Request, context: ContextDep, caller: Reader, text: Text = "") -> HTMLResponse:
    """Kernels by name."""
    wanted = text.strip()
    rows = _read(context, lambda session: catalogue.kernel_list(session, wanted))
    count = _read(context, lambda session: catalogue.kernel_count(session, wanted))
    return page(request, "kernels.html", rows=rows, count=count, text=text)


@router.get("/kernels/{ir_hash}")
def kernel_page(request: Request, context: ContextDep, caller: Reader, ir_hash: str) -> HTMLResponse:
    """One kernel's history over toolchains."""
    return page(request, "kernel.html", shown=_read(context, lambda session: catalogue.kernel_page(session, ir_hash)))


@router.get("/results")
def results_page(request: Request, context: ContextDep, caller: Reader, stale: bool = False) -> HTMLResponse:
    """Stored results and why some are stale; with ``stale`` only the stale ones."""

    def today(profile: HardwareProfile) -> Mapping[str, str]:
        return present_columns(context, profile)

    rows, count = _read(context, lambda session: catalogue.results_of(session, today, stale))
    return page(request, "results.html", rows=rows, count=count, stale=stale)


@router.get("/history")
def history(request: Request, context: ContextDep, caller: Reader) -> HTMLResponse:
    """Answers over time with their change points, and regressions."""
    return page(request, "history.html", shown=_read(context, history_page))


@router.get("/profiles")
def profiles_page(request: Request, context: ContextDep, caller: Reader) -> HTMLResponse:
    """Hardware profiles."""
    return page(request, "profiles.html", rows=_read(context, catalogue.profile_list))


@router.get("/profiles/{digest}")
def profile_page(request: Request, context: ContextDep, caller: Reader, digest: str) -> HTMLResponse:
    """One profile: every number with unit, origin and source."""
    return page(request, "profile.html", row=_read(context, lambda session: catalogue.profile_page(session, digest)))


@router.get("/workers")
def workers_page(request: Request, context: ContextDep, caller: Reader) -> HTMLResponse:
    """Workers and their health."""
    return page(request, "workers.html", rows=_read(context, catalogue.worker_list))


@router.get("/model")
def model_page(request: Request, context: ContextDep, caller: Reader) -> HTMLResponse:
    """Forecast against hardware."""
    return page(request, "model.html", shown=_read(context, model.model_page))


@router.get("/login")
def login_page(request: Request) -> HTMLResponse:
    """Asks for a token."""
    return page(request, "login.html", wrong=False)


@router.post("/login")
async def login(request: Request, context: ContextDep, form: FormDep) -> Response:
    """Begins a session for a valid token, whose secret is kept in a cookie; asks again after an invalid one."""
    check_origin(request)
    failures: LoginFailures = request.app.state.login_failures
    address = request.client.host if request.client else ""
    failures.check(address)
    try:
        token = form.text("token")
        caller = await caller_with(request, "" if token.startswith(SESSION_PREFIX) else token)
    except Unauthorized:
        failures.failed(address)
        return await run_in_threadpool(page, request, "login.html", status=401, wrong=True)
    lasts = timedelta(hours=context.settings.session_hours)
    secret = await run_in_threadpool(context.database.write, lambda session: log_in(session, caller.id, lasts))
    answer = RedirectResponse("/", status_code=303)
    secure = request.url.scheme == "https" or context.settings.public_url.startswith("https:")
    answer.set_cookie(
        COOKIE, secret, max_age=int(lasts.total_seconds()), httponly=True, samesite="strict", secure=secure
    )
    return answer


@router.post("/logout")
def logout(request: Request, context: ContextDep, caller: FormReader) -> Response:
    """Ends the session of this browser."""
    secret = request.cookies.get(COOKIE, "")
    context.database.write(lambda session: log_out(session, secret))
    check: TokenCheck = request.app.state.token_check
    check.forget(secret)
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer
