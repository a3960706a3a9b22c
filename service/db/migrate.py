"""Upgrades a database to the newest revision, exactly once, however many processes start together.

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
from sqlalchemy.exc import DatabaseError

from warpwright import migrations
from warpwright.service.db.database import Database
from warpwright.service.errors import Unavailable

__all__ = [
    "DatabaseDamaged",
    "SchemaOutdated",
    "SchemaUnknown",
    "current_revision",
    "head_revision",
    "require_head",
    "upgrade",
]

LOCK_TIMEOUT = "5s"
"""For a table that PostgreSQL's other clients hold: a waiting migration blocks everybody behind it."""
DAMAGE = ("file is not a database", "database disk image is malformed")
_ADVISORY_LOCK = 0x5741525057
"""Key of the advisory lock: any constant that nothing else in this database uses."""


class SchemaOutdated(Unavailable):
    """The database's revision is not the one that this code needs."""

    code = "schema-outdated"


class SchemaUnknown(Unavailable):
    """A newer version has upgraded the database, and this code cannot read it."""

    code = "schema-unknown"


class DatabaseDamaged(Unavailable):
    """The file is not an SQLite database, or is damaged; it is left unchanged."""

    code = "database-damaged"


def upgrade(database: Database, revision: str = "head") -> None:
    """Upgrade to a revision; does nothing if the database has it already.

    Raises:
        SchemaUnknown: this code does not know the database's revision. DatabaseDamaged: SQLite cannot read the file.
    """
    try:
        _upgrade(database, revision)
    except DatabaseError as error:
        if database.is_sqlite and any(words in str(error.orig) for words in DAMAGE):
            message = f"{database.url.database}: {error.orig}; move it away, or restore a backup"
            raise DatabaseDamaged(message) from error
        raise


def _upgrade(database: Database, revision: str) -> None:
    with _lock(database), database.engine.execution_options(write=True).connect() as connection, connection.begin():
        if not database.is_sqlite:
            connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))
        config = _config(connection)
        found = MigrationContext.configure(connection).get_current_revision()
        if found is not None and found not in {
            each.revision for each in ScriptDirectory.from_config(config).walk_revisions()
        }:
            message = f"the database is at revision {found}, made by a newer version; this version knows up to {head_revision()}"
            raise SchemaUnknown(message)
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
        # Transaction-level, so that a killed process releases it with its connection.
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        yield
