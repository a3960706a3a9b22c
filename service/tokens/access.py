"""Dependencies that identify the caller and check its scope, from headers alone."""

from abc import abstractmethod
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from warpwright.service.before_body import BeforeBody
from warpwright.service.errors import Forbidden, Unauthorized
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import ANONYMOUS, SESSION_PREFIX, Caller, TokenCheck

__all__ = ["COOKIE", "AdminCaller", "HeaderCheck", "Needs", "ReadCaller", "TuneCaller", "WorkCaller", "caller_with"]

COOKIE = "warpwright_session"
_CALLER = "warpwright.caller"
"""Key of a request's scope: who was found to send it."""
READING = frozenset({"GET", "HEAD"})


async def _caller(request: Request) -> Caller:
    header = request.headers.get("authorization")
    if header is None and request.method in READING and (session := request.cookies.get(COOKIE)):
        # Links of the dashboard lead to the API's downloads. Reading only: what changes something needs the header.
        return await caller_with(request, session)
    if header is None:
        if request.app.state.context.settings.tokens_required:
            raise Unauthorized("send 'Authorization: Bearer <token>'; 'warpwright token create' creates one")
        return ANONYMOUS
    kind, _, secret = header.partition(" ")
    if kind.lower() != "bearer" or not secret:
        raise Unauthorized("the Authorization header must be 'Bearer <token>'", code="token-malformed")
    if secret.strip().startswith(SESSION_PREFIX):
        raise Unauthorized("this is the secret of a browser's session, not a token", code="token-malformed")
    return await caller_with(request, secret.strip())


async def caller_with(request: Request, secret: str) -> Caller:
    """The caller of a token's or a session's secret.

    Raises:
        Unauthorized: ``token-unknown``.
    """
    check: TokenCheck = request.app.state.token_check
    caller = check.remembered(secret)
    return caller if caller is not None else await run_in_threadpool(check.check, secret)


class HeaderCheck(BeforeBody):
    """A dependency that knows from the headers whether the caller may use a route with this scope.

    ``GuardedRoute`` runs it before any byte of the body is read; the framework's own run takes the caller from the request.
    """

    def __init__(self, scope: TokenScope) -> None:
        self.scope = scope

    async def __call__(self, request: Request) -> Caller:
        """The caller.

        Raises:
            Unauthorized: no token, or an unknown one. Forbidden: ``scope-missing``.
        """
        caller: Caller | None = request.scope.get(_CALLER)
        if caller is None:
            caller = request.scope[_CALLER] = await self.caller_of(request)
        if self.scope not in caller.scopes:
            raise Forbidden(f"this requires a token with the scope '{self.scope.value}'")
        return caller

    @abstractmethod
    async def caller_of(self, request: Request) -> Caller:
        """Who sends this request."""


class Needs(HeaderCheck):
    """The caller by its Authorization header. The OpenAPI document reads the scope from here."""

    async def caller_of(self, request: Request) -> Caller:
        """The token of the Authorization header; on loopback without one, anybody."""
        return await _caller(request)


ReadCaller = Annotated[Caller, Depends(Needs(TokenScope.READ))]
TuneCaller = Annotated[Caller, Depends(Needs(TokenScope.TUNE))]
WorkCaller = Annotated[Caller, Depends(Needs(TokenScope.WORK))]
AdminCaller = Annotated[Caller, Depends(Needs(TokenScope.ADMIN))]
