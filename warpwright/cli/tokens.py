"""``warpwright token``: creates, lists and revokes access tokens in the database of the settings."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.table import Table
from rich.text import Text

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.render import console
from warpwright.service.data_folder import prepare_data_folder
from warpwright.service.db import Database, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.migrate import upgrade
from warpwright.service.settings import Settings
from warpwright.service.tokens import repository
from warpwright.service.tokens.schemas import TokenScope, TokenView
from warpwright.service.tokens.service import create, rotate
from warpwright.solver.domain.errors import WarpwrightError

__all__ = ["create_token", "list_tokens", "revoke_token", "rotate_token"]

SHOWN = 1000


def create_token(name: str, scopes: list[str], days: float | None, *, as_json: bool) -> ExitCode:
    """Creates a token; its secret is printed only once.

    Raises:
        WarpwrightError: ``scope-unknown``.
    """
    wanted = [_scope(scope) for scope in scopes or [TokenScope.TUNE.value]]
    expires_at = None if days is None else now() + timedelta(days=days)
    with _database() as database:
        token, secret = database.write(lambda session: _made(*create(session, name, wanted, expires_at=expires_at)))
    return _show(token, secret, as_json=as_json)


def rotate_token(token_id: str, overlap_seconds: float, *, as_json: bool) -> ExitCode:
    """Replaces a token; the secret of the new one is printed only once.

    Raises:
        WarpwrightError: ``token-unknown``.
    """

    def work(session: WriteSession) -> tuple[TokenView, str] | None:
        made = rotate(session, token_id, timedelta(seconds=overlap_seconds))
        return None if made is None else _made(*made)

    with _database() as database:
        made = database.write(work)
    if made is None:
        raise WarpwrightError(f"there is no active token {token_id!r}", code="token-unknown", place=token_id)
    return _show(*made, as_json=as_json)


def _show(token: TokenView, secret: str, *, as_json: bool) -> ExitCode:
    if as_json:
        sys.stdout.write(json.dumps({**token.model_dump(mode="json"), "secret": secret}) + "\n")
    else:
        sys.stdout.write(secret + "\n")
        sys.stderr.write(f"{token.id} ({', '.join(token.scopes)}): the line above is the secret; it is not stored\n")
    return ExitCode.OK


def list_tokens(*, as_json: bool) -> ExitCode:
    """Lists the tokens, revoked ones included, without their secrets."""
    with _database() as database:
        tokens = database.read(
            lambda session: [TokenView.model_validate(row) for row in repository.all_tokens(session, SHOWN)]
        )
    if as_json:
        sys.stdout.write(json.dumps({"tokens": [token.model_dump(mode="json") for token in tokens]}) + "\n")
        return ExitCode.OK
    table = Table("id", "name", "scopes", "made", "last used", "expires", "revoked", header_style="bold")
    for token in tokens:
        moments = (token.created_at, token.last_used_at, token.expires_at, token.revoked_at)
        cells = (
            token.id,
            token.name,
            ", ".join(token.scopes),
            *(f"{each:%Y-%m-%d %H:%M}" if each else "" for each in moments),
        )
        table.add_row(*map(Text, cells))
    console().print(table)
    return ExitCode.OK


def revoke_token(token_id: str) -> ExitCode:
    """Revokes a token.

    Raises:
        WarpwrightError: ``token-unknown``.
    """
    with _database() as database:
        if not database.write(lambda session: repository.revoke(session, token_id)):
            raise WarpwrightError(f"there is no active token {token_id!r}", code="token-unknown", place=token_id)
    sys.stdout.write(f"revoked {token_id}\n")
    return ExitCode.OK


def _made(token: object, secret: str) -> tuple[TokenView, str]:
    return TokenView.model_validate(token), secret


def _scope(name: str) -> TokenScope:
    try:
        return TokenScope(name)
    except ValueError:
        names = ", ".join(scope.value for scope in TokenScope)
        raise WarpwrightError(
            f"there is no scope {name!r}; choose from {names}", code="scope-unknown", place="--scope"
        ) from None


@contextmanager
def _database() -> Iterator[Database]:
    settings = Settings.from_environment()
    prepare_data_folder(settings.data)
    database = Database(settings.url)
    try:
        upgrade(database)
        yield database
    finally:
        database.close()
