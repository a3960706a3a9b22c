"""Revisions: from empty, from the first with rows in it, no drift, four processes at once, one of them killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, inspect, select, text
from sqlalchemy.exc import OperationalError

import warpwright.service.db.models  # noqa: F401 - registers every table
from warpwright.service.db import Database, migrate
from warpwright.service.db.base import Base, now
from warpwright.service.db.migrate import (
    DatabaseDamaged,
    SchemaOutdated,
    SchemaUnknown,
    _config,
    current_revision,
    head_revision,
    require_head,
    upgrade,
)
from warpwright.service.db.models import Job, Profile, StoredResult
from warpwright.service.testing.postgresql import TemporaryPostgresql

FIRST = "0001"
PROFILE = {
    "digest": "sha256:p",
    "name": "h200",
    "title": "H200",
    "family": "cuda",
    "arch": "sm_90a",
    "document": {},
    "builtin": True,
}


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        made = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    else:
        server: TemporaryPostgresql = request.getfixturevalue("postgresql")
        made = Database(server.database())
    yield made
    made.close()


def test_a_database_of_a_newer_version_is_left_alone(empty: Database) -> None:
    upgrade(empty)
    with empty.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SchemaUnknown, match="revision 9999, made by a newer version"):
        upgrade(empty)
    assert current_revision(empty) == "9999"


@pytest.mark.parametrize("keep", [0, 4096])
def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "w.db"
    made = Database(f"sqlite:///{path}")
    upgrade(made)
    made.close()
    damaged = path.read_bytes()[:keep] + b"not a database " * 2000
    path.write_bytes(damaged)
    opened = Database(f"sqlite:///{path}")
    with pytest.raises(DatabaseDamaged, match="move it away"):
        upgrade(opened)
    opened.close()
    assert path.read_bytes() == damaged


def test_from_empty_to_head_without_drift(empty: Database) -> None:
    assert current_revision(empty) is None
    with pytest.raises(SchemaOutdated):
        require_head(empty)
    upgrade(empty)
    require_head(empty)
    with empty.connection() as connection:
        differences = compare_metadata(
            MigrationContext.configure(connection, opts={"compare_type": True}), Base.metadata
        )
    assert differences == []


def test_again_changes_nothing(empty: Database) -> None:
    upgrade(empty)
    upgrade(empty)
    assert current_revision(empty) == head_revision()


def test_the_first_revision_with_rows_upgrades_and_keeps_them(empty: Database) -> None:
    upgrade(empty, FIRST)
    moment = now().isoformat()
    with empty.engine.execution_options(write=True).begin() as connection:
        connection.execute(
            text(
                "INSERT INTO profiles (digest, name, title, family, arch, document, builtin, created_at)"
                f" VALUES ('sha256:p', 'h200', 'H200', 'cuda', 'sm_90a', '{{}}', true, '{moment}')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO jobs (id, owner, name, state, priority, work_digest, profile_digest, request, trace_id,"
                " created_at, updated_at, attempt, event_count, candidate_count, done, note, partial, stopped_by)"
                f" VALUES ('job_1', '', 'old', 'building', 0, 'sha256:w', 'sha256:p', '{{}}', '', '{moment}', '{moment}',"
                " 1, 0, 0, 0, '', false, '')"
            )
        )
    upgrade(empty)
    with empty.reading() as session:
        job = session.scalars(select(Job)).one()
        assert (job.name, job.state) == ("old", "building")
        assert session.scalars(select(Profile.name)).one() == "h200"


def fill(database: Database, candidates: Mapping[str, tuple[str, dict[str, Any]]]) -> None:
    """A job with candidates of these keys, kinds and reports, each with a stored result, in the tables as they are."""
    tables = MetaData()
    tables.reflect(database.engine)
    words = dict.fromkeys(("ir", "ir_hash", "toolchain", "constraint_set", "protocol", "verification", "pins"), "w")
    words |= dict.fromkeys(("owner", "trace_id", "note", "stopped_by", "status", "answer", "name"), "")
    numbers = dict.fromkeys(("priority", "attempt", "event_count", "candidate_count", "done", "variant"), 0)
    empty = ("request", "document", "pins_document", "structure", "measurement", "seconds")
    objects: dict[str, Any] = {key: {} for key in empty}
    moments = dict.fromkeys(("created_at", "updated_at", "ended_at"), now())
    common = {**words, **numbers, **objects, **moments, "not_honoured": [], "partial": False, "measured": False}
    common |= {"job_id": "job_1", "profile_digest": "sha256:p", "profile": "sha256:p", "work_digest": "w"}

    with database.engine.execution_options(write=True).begin() as connection:

        def insert(name: str, /, **values: Any) -> None:
            table = tables.tables[name]
            row = {key: value for key, value in {**common, **values}.items() if key in table.columns}
            connection.execute(table.insert().values(**row))

        insert("profiles", **PROFILE)
        insert("jobs", id="job_1", state="done", ended_at=now())
        for number, (key, (kind, report)) in enumerate(candidates.items(), 1):
            insert("candidates", key=key, number=number, kind=kind, outcome="compiled", report=report)
            insert("results", key=key, candidate=key)


def test_stored_results_that_the_verifier_refused_are_removed(empty: Database) -> None:
    """Crowned by a version to which the verdict was only a remark."""
    upgrade(empty, "0005")
    violation = {"family": "register_pool", "rule": "pool-exceeded", "message": "too many", "place": ""}
    verdicts: dict[str, tuple[str, dict[str, Any]]] = {
        "refused": (
            "default",
            {"verifier": {"threads": 384, "violations": [violation]}, "launch": {"block_threads": 384}},
        ),
        "accepted": ("default", {"verifier": {"threads": 384, "violations": []}}),
        "of others": (
            "role_based",
            {"verifier": {"threads": 384, "violations": [violation]}, "launch": {"block_threads": 256}},
        ),
        "unjudged": ("unspecialized", {}),
        "ours": ("scheduled", {}),
    }
    fill(empty, verdicts)
    upgrade(empty)
    kept = set(empty.read(lambda session: session.scalars(select(StoredResult.key)).all()))
    assert kept == set(verdicts) - {"refused"}


def test_every_revision_goes_back_with_rows_in_it_and_up_again(empty: Database) -> None:
    upgrade(empty)
    empty.write(lambda session: session.add(Profile(**PROFILE)))
    for revision in ("-1", "-1", FIRST):
        with empty.engine.execution_options(write=True).connect() as connection, connection.begin():
            command.downgrade(_config(connection), revision)
    assert current_revision(empty) == FIRST
    upgrade(empty)
    require_head(empty)
    assert empty.read(lambda session: session.scalars(select(Profile.name)).one()) == "h200"


def test_a_table_that_somebody_holds_ends_a_migration_in_time_and_changes_nothing(
    postgresql: TemporaryPostgresql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT", "200ms")
    url = postgresql.database()
    database, other = Database(url), Database(url)
    upgrade(database, "0004")
    with other.engine.connect() as connection:
        connection.execute(text("LOCK TABLE jobs IN ACCESS SHARE MODE"))
        with pytest.raises(OperationalError, match="lock timeout"):
            upgrade(database)
        assert current_revision(database) == "0004"
    upgrade(database)
    require_head(database)
    database.close()
    other.close()


SCRIPT = """
import sys, time
from warpwright.service.db import Database
from warpwright.service.db.migrate import upgrade
upgrade(Database(sys.argv[1]))
"""


def test_four_processes_at_once_and_one_killed_migrate_exactly_once(empty: Database) -> None:
    upgrade(empty, FIRST)
    url = empty.url.render_as_string(hide_password=False)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [subprocess.Popen([sys.executable, "-c", SCRIPT, url], env=environment) for _ in range(4)]
    time.sleep(0.5)
    processes[0].send_signal(signal.SIGKILL)
    codes = [process.wait(timeout=60) for process in processes]
    assert codes[1:] == [0, 0, 0]
    require_head(empty)
    with empty.connection() as connection:
        assert {"results", "tokens", "batches", "workers"} <= set(inspect(connection).get_table_names())


def test_revisions_import_no_models() -> None:
    folder = Path(__file__).parents[3] / "migrations" / "versions"
    for path in folder.glob("0*.py"):
        assert "service" not in path.read_text(), path.name
