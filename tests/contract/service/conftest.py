"""Every test of this folder runs on SQLite and on a real PostgreSQL, each on a migrated database of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from warpwright.service.db import Database
from warpwright.service.db.migrate import upgrade
from warpwright.service.testing.postgresql import TemporaryPostgresql


@pytest.fixture(scope="session")
def postgresql() -> Iterator[TemporaryPostgresql]:
    with TemporaryPostgresql() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_template(postgresql: TemporaryPostgresql) -> str:
    """Name of a migrated database that others are copied from."""
    url = postgresql.database()
    database = Database(url)
    upgrade(database)
    database.close()
    return str(database.url.database)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        made = Database(f"sqlite:///{tmp_path / 'test.db'}")
        upgrade(made)
    else:
        server: TemporaryPostgresql = request.getfixturevalue("postgresql")
        made = Database(server.database(request.getfixturevalue("migrated_template")), pool_size=16)
    yield made
    made.close()
