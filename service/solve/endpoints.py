"""Solving over HTTP."""

from fastapi import APIRouter

from warpwright.service.app_context import ContextDep
from warpwright.service.solve import service
from warpwright.service.solve.schemas import SolveAnswer, SolveRequest
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import TuneCaller
from warpwright.service.work_pools import SolvePool

router = APIRouter(prefix="/v1/solve", tags=["solve"], route_class=StrictRoute)


@router.post("", response_model=SolveAnswer)
async def solve(request: SolveRequest, context: ContextDep, caller: TuneCaller, pool: SolvePool) -> SolveAnswer:
    """A proven-legal schedule with its certificate, or the conflicting rule families; nothing is built or stored."""
    return await pool.run(service.solve, context, request)
