"""Who may use the dashboard. On loopback everybody; elsewhere whoever has a token, entered once on the login page
and kept in a cookie.

The cookie is HttpOnly and SameSite=Strict, so no other site's page can use it; forms that change something also check the
Origin header.
"""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from warpwright.service.errors import Forbidden, Unauthorized
from warpwright.service.tokens.access import HeaderCheck
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import ANONYMOUS, Caller, TokenCheck

__all__ = ["COOKIE", "LoginNeeded", "Reader", "Tuner", "caller_of", "check_origin"]

COOKIE = "warpwright_token"


class LoginNeeded(Unauthorized):
    """The request has no usable token: a browser is sent to the login page."""

    code = "login-needed"


async def caller_of(request: Request) -> Caller:
    """The caller by cookie or Authorization header.

    Raises:
        LoginNeeded: a token is required, and none or an unknown one was sent.
    """
    kind, _, header = request.headers.get("authorization", "").partition(" ")
    secret = header.strip() if kind.lower() == "bearer" else request.cookies.get(COOKIE, "")
    if not secret:
        if request.app.state.context.settings.tokens_required:
            raise LoginNeeded("this dashboard requires a token")
        return ANONYMOUS
    check: TokenCheck = request.app.state.token_check
    try:
        remembered = check.remembered(secret)
        return remembered if remembered is not None else await run_in_threadpool(check.check, secret)
    except Unauthorized as error:
        raise LoginNeeded(error.message) from error


class _PageNeeds(HeaderCheck):
    """The caller by cookie or Authorization header."""

    async def caller_of(self, request: Request) -> Caller:
        """The caller; LoginNeeded without a usable token."""
        return await caller_of(request)


class _FormNeeds(_PageNeeds):
    """The caller of a form, which must come from one of the dashboard's own pages."""

    async def __call__(self, request: Request) -> Caller:
        """The caller.

        Raises:
            Forbidden: ``origin-not-allowed``, or the scope is missing. LoginNeeded.
        """
        caller = await super().__call__(request)
        check_origin(request)
        return caller


def check_origin(request: Request) -> None:
    """Refuses a form that another site's page sends.

    Raises:
        Forbidden: ``origin-not-allowed``.
    """
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Forbidden("forms are accepted only from the dashboard's own pages", code="origin-not-allowed")


Reader = Annotated[Caller, Depends(_PageNeeds(TokenScope.READ))]
Tuner = Annotated[Caller, Depends(_FormNeeds(TokenScope.TUNE))]
