"""A job's page as one self-contained file: the page's own template with its assets and its drawing included."""

from importlib.metadata import PackageNotFoundError, version

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from warpwright.service.app_context import Context, ContextDep
from warpwright.service.dashboard.access import Reader
from warpwright.service.dashboard.drawings import drawing_of
from warpwright.service.dashboard.rendering import render
from warpwright.service.dashboard.views.jobpage import job_detail, sorted_candidates, sources_of
from warpwright.service.guarded_route import GuardedRoute

__all__ = ["report_text", "router"]

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)
"""Errors of this router are problem documents, because the command line calls it."""


def report_text(context: Context, job_id: str) -> str:
    """The page of a job as one file. The winner comes first, because no order can be chosen before the file is opened.

    Raises:
        NotFound: ``job-unknown``.
    """
    shown = context.database.read(lambda session: job_detail(session, job_id))
    order = "measured" if any(row.measured_ns for row in shown.candidates) else "forecast"
    return render(
        "job.html",
        offline=True,
        shown=shown,
        rows=sorted_candidates(shown.candidates, order, descending=False),
        sort=order,
        down=False,
        live=None,
        sources=sources_of(context.store, shown.artifacts),
        drawing=drawing_of(context, job_id, "") if shown.best else None,
        version=_version(),
    )


@router.get("/jobs/{job_id}/report")
def report(context: ContextDep, caller: Reader, job_id: str) -> HTMLResponse:
    """A job's page as one file to keep or to send."""
    headers = {
        "Content-Disposition": 'attachment; filename="report.html"',
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return HTMLResponse(report_text(context, job_id), headers=headers)


def _version() -> str:
    try:
        return version("warpwright")
    except PackageNotFoundError:
        return "(source tree)"
