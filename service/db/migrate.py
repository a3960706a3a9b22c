"""Brings a database to the newest revision, exactly once however many processes start together.

The lock is a file lock beside an SQLite database and an advisory lock on PostgreSQL; both go away with their holder, so a
migration that is killed is rolled back and the next process does it. All revisions of one call are one transaction.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

import migrations
from service.db.database import Database
from service.errors import Unavailable

__all__ = ["SchemaOutdated", "current_revision", "head_revision", "require_head", "upgrade"]

LOCK_TIMEOUT = "5s"
"""For a table that PostgreSQL's other clients hold: a migration that waits holds up everybody behind it."""
_ADVISORY_LOCK = 0x5741525057
"""Any constant; ours alone in a database of ours."""


class SchemaOutdated(Unavailable):
    """The database's revision is not the one that this code was written for."""

    code = "schema-outdated"


def upgrade(database: Database, revision: str = "head") -> None:
    """Upgrade to a revision; does nothing when it is there already."""
    with _lock(database), database.engine.execution_options(write=True).connect() as connection, connection.begin():
        if not database.is_sqlite:
            connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))
        config = _config(connection)
        command.upgrade(config, revision)


def current_revision(database: Database) -> str | None:
    """The database's revision, None for an empty one."""
    with database.connection() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head_revision() -> str | None:
    """The newest revision that this code has."""
    return ScriptDirectory.from_config(_config(None)).get_current_head()


def require_head(database: Database) -> None:
    """Raise :class:`SchemaOutdated` unless the database is at the newest revision."""
    found, wanted = current_revision(database), head_revision()
    if found != wanted:
        raise SchemaOutdated(f"the database is at revision {found}, this service needs {wanted}")


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _lock(database: Database) -> Iterator[None]:
    if database.is_sqlite:
        path = Path(f"{database.url.database}.migrate-lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        return
    with database.engine.connect() as connection, connection.begin():
        # Transaction-level, so that a killed process gives it up with its connection.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        yield
