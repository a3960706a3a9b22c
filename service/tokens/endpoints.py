"""Tokens over HTTP, for administrators."""

from datetime import timedelta

from fastapi import APIRouter

from warpwright.service.app_context import ContextDep
from warpwright.service.db import WriteSession
from warpwright.service.db.base import now
from warpwright.service.errors import NotFound
from warpwright.service.page_parameters import DEFAULT_LIMIT, Cursor, Limit
from warpwright.service.pages import Page, decode_cursor, encode_cursor, page_of
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens import repository
from warpwright.service.tokens.access import AdminCaller
from warpwright.service.tokens.schemas import NewToken, TokenRequest, TokenRotation, TokenView
from warpwright.service.tokens.service import create, rotate

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], route_class=StrictRoute)


@router.post("", status_code=201, response_model=NewToken)
def create_token(body: TokenRequest, context: ContextDep, caller: AdminCaller) -> NewToken:
    """Create a token; its secret is in this answer and nowhere else."""

    def work(session: WriteSession) -> NewToken:
        lasts = body.expires_in_days
        expires_at = None if lasts is None else now() + timedelta(days=lasts)
        token, secret = create(session, body.name, body.scopes, expires_at=expires_at)
        return NewToken(**TokenView.model_validate(token).model_dump(), secret=secret)

    return context.database.write(work)


@router.get("", response_model=Page[TokenView])
def list_tokens(
    context: ContextDep, caller: AdminCaller, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[TokenView]:
    """All tokens, without their secrets."""
    after = str(decode_cursor(cursor, str)[0]) if cursor is not None else None
    with context.database.reading() as session:
        rows, more = page_of(repository.all_tokens(session, limit + 1, after), limit)
        return Page(
            items=[TokenView.model_validate(row) for row in rows], next=encode_cursor(rows[-1].id) if more else None
        )


@router.post("/{token_id}:rotate", status_code=201, response_model=NewToken)
def rotate_token(token_id: str, body: TokenRotation, context: ContextDep, caller: AdminCaller) -> NewToken:
    """Replace a token: the same name, scopes and period, another secret. The old one expires after the overlap."""

    def work(session: WriteSession) -> NewToken:
        made = rotate(session, token_id, timedelta(seconds=body.overlap_seconds))
        if made is None:
            raise NotFound(f"there is no active token {token_id[:40]!r}", code="token-unknown-id")
        token, secret = made
        return NewToken(**TokenView.model_validate(token).model_dump(), secret=secret)

    return context.database.write(work)


@router.delete("/{token_id}", status_code=204)
def revoke_token(token_id: str, context: ContextDep, caller: AdminCaller) -> None:
    """Revoke a token; it is refused everywhere within seconds."""
    if not context.database.write(lambda session: repository.revoke(session, token_id)):
        raise NotFound(f"there is no active token {token_id[:40]!r}", code="token-unknown-id")
