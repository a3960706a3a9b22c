"""Solving over HTTP."""

from fastapi import APIRouter

from service.bodies import StrictRoute
from service.context import ContextDep
from service.solve import service
from service.solve.schemas import SolveAnswer, SolveRequest
from service.tokens.access import TuneCaller

router = APIRouter(prefix="/v1/solve", tags=["solve"], route_class=StrictRoute)


@router.post("", response_model=SolveAnswer)
def solve(request: SolveRequest, context: ContextDep, caller: TuneCaller) -> SolveAnswer:
    """A proven-legal schedule with its certificate, or the conflicting constraint families; nothing is built or stored."""
    return service.solve(context, request)
