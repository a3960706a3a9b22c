"""Candidates over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query

from warpwright.service.app_context import ContextDep
from warpwright.service.candidates import repository
from warpwright.service.candidates.schemas import CandidateView
from warpwright.service.candidates.views import view, views
from warpwright.service.errors import NotFound
from warpwright.service.jobs.service import find
from warpwright.service.page_parameters import DEFAULT_LIMIT, Cursor, Limit
from warpwright.service.pages import Page, decode_cursor, encode_cursor, page_of
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import ReadCaller
from warpwright.solver.domain import CandidateKind, Outcome

router = APIRouter(prefix="/v1/jobs/{job_id}/candidates", tags=["candidates"], route_class=StrictRoute)


@router.get("", response_model=Page[CandidateView])
def list_candidates(
    job_id: str,
    context: ContextDep,
    caller: ReadCaller,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    outcome: Annotated[Outcome | None, Query()] = None,
    kind: Annotated[CandidateKind | None, Query()] = None,
) -> Page[CandidateView]:
    """A job's candidates in the order in which they ended."""
    after = int(decode_cursor(cursor, int)[0]) if cursor is not None else 0
    with context.database.reading() as session:
        find(session, job_id)
        rows, more = page_of(
            repository.page(session, job_id, limit + 1, after=after, outcome=outcome, kind=kind), limit
        )
        return Page(
            items=views(session, job_id, rows),
            next=encode_cursor(rows[-1].number) if more else None,
        )


@router.get("/{candidate_id}", response_model=CandidateView)
def get_candidate(job_id: str, candidate_id: str, context: ContextDep, caller: ReadCaller) -> CandidateView:
    """One candidate."""
    with context.database.reading() as session:
        find(session, job_id)
        row = repository.get(session, job_id, candidate_id)
        if row is None:
            raise NotFound(f"job {job_id} has no candidate {candidate_id[:80]!r}", code="candidate-unknown")
        return view(session, row)
