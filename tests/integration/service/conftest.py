"""A PostgreSQL server for the tests that need one."""

from collections.abc import Iterator

import pytest

from warpwright.service.testing.postgresql import TemporaryPostgresql


@pytest.fixture(scope="session")
def postgresql() -> Iterator[TemporaryPostgresql]:
    with TemporaryPostgresql() as server:
        yield server
