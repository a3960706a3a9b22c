"""Dependencies that identify the caller and check its scope."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from warpwright.service.errors import Forbidden, Unauthorized
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import ANONYMOUS, Caller, TokenCheck

__all__ = ["AdminCaller", "Needs", "ReadCaller", "TuneCaller", "WorkCaller", "require"]


async def _caller(request: Request) -> Caller:
    header = request.headers.get("authorization")
    if header is None:
        if request.app.state.context.settings.tokens_required:
            raise Unauthorized("send 'Authorization: Bearer <token>'; 'warpwright token create' creates one")
        return ANONYMOUS
    kind, _, secret = header.partition(" ")
    if kind.lower() != "bearer" or not secret:
        raise Unauthorized("the Authorization header must be 'Bearer <token>'", code="token-malformed")
    check: TokenCheck = request.app.state.token_check
    caller = check.remembered(secret.strip())
    return caller if caller is not None else await run_in_threadpool(check.check, secret.strip())


async def require(request: Request, scope: TokenScope) -> Caller:
    """The caller, who must have a scope; for the one endpoint where nested dependencies are too slow."""
    caller = await _caller(request)
    if scope not in caller.scopes:
        raise Forbidden(f"this requires a token with the scope '{scope.value}'")
    return caller


class Needs:
    """A dependency: the caller, who must have a scope. The OpenAPI document reads it from here."""

    def __init__(self, scope: TokenScope) -> None:
        self.scope = scope

    async def __call__(self, caller: Annotated[Caller, Depends(_caller)]) -> Caller:
        """The caller."""
        if self.scope not in caller.scopes:
            raise Forbidden(f"this requires a token with the scope '{self.scope.value}'")
        return caller


ReadCaller = Annotated[Caller, Depends(Needs(TokenScope.READ))]
TuneCaller = Annotated[Caller, Depends(Needs(TokenScope.TUNE))]
WorkCaller = Annotated[Caller, Depends(Needs(TokenScope.WORK))]
AdminCaller = Annotated[Caller, Depends(Needs(TokenScope.ADMIN))]
