"""Who may use the dashboard. On loopback everybody; elsewhere whoever has a token, entered once on the login page. The cookie
has the secret of a session, which ends by itself and at the logout.

The cookie is HttpOnly and SameSite=Strict, so no other site's page can use it; forms that change something also check the
Origin header.
"""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from warpwright.service.app_context import Context
from warpwright.service.errors import Forbidden, Unauthorized
from warpwright.service.tokens.access import COOKIE, HeaderCheck, caller_with
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import ANONYMOUS, SESSION_PREFIX, Caller

__all__ = ["FormReader", "LoginNeeded", "Reader", "Tuner", "check_origin"]


class LoginNeeded(Unauthorized):
    """The request has no usable token: a browser is sent to the login page."""

    code = "login-needed"


async def caller_of(request: Request) -> Caller:
    """The caller by cookie or Authorization header.

    Raises:
        LoginNeeded: a token is required, and none or an unknown one was sent.
    """
    kind, _, header = request.headers.get("authorization", "").partition(" ")
    cookie = request.cookies.get(COOKIE, "")
    shown = header.strip() if kind.lower() == "bearer" else ""
    secret = shown or cookie
    if secret and secret.startswith(SESSION_PREFIX) is bool(shown):
        raise LoginNeeded("a session's secret comes in the cookie, a token in the Authorization header")
    if not secret:
        if request.app.state.context.settings.tokens_required:
            raise LoginNeeded("this dashboard requires a token")
        return ANONYMOUS
    try:
        return await caller_with(request, secret)
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
        Forbidden: ``origin-not-allowed``. Behind a proxy that rewrites Host, ``WARPWRIGHT_PUBLIC_URL`` names the address.
    """
    origin = request.headers.get("origin")
    context: Context = request.app.state.context
    ours = {request.headers.get("host"), urlsplit(context.settings.public_url).netloc or None}
    if origin is not None and urlsplit(origin).netloc not in ours:
        raise Forbidden("forms are accepted only from the dashboard's own pages", code="origin-not-allowed")


Reader = Annotated[Caller, Depends(_PageNeeds(TokenScope.READ))]
FormReader = Annotated[Caller, Depends(_FormNeeds(TokenScope.READ))]
Tuner = Annotated[Caller, Depends(_FormNeeds(TokenScope.TUNE))]
