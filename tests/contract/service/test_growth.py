"""What a write costs does not grow with what is there (the pitfall of optuna#1490: numbering a trial locked all of them)."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import event, insert, text, update

from tests.contract.service.test_claims import add_job
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.change_notifier import Bulletin
from warpwright.service.db import Database
from warpwright.service.db.base import now
from warpwright.service.db.models import CandidateRow, Job
from warpwright.service.jobs.claims import claim
from warpwright.service.jobs.recorder import Recorder
from warpwright.solver.domain import Candidate, CandidateKind, Outcome
from warpwright.tuning.events import CandidateEnded
from warpwright.tuning.toolchain import Identity

MANY = 10_000


def record(number: int) -> Candidate:
    return Candidate(f"cand_{number}", 0, CandidateKind.SCHEDULED, Outcome.COMPILED, forecast_ns=1.0)


def fill(database: Database, job_id: str) -> None:
    """Many candidates of the same job, straight into the table."""
    columns = {
        column.name: "x"
        for column in CandidateRow.__table__.columns
        if not column.nullable and column.type.python_type is str
    }
    plain: dict[str, Any] = {"structure": {}, "measurement": {}, "report": {}, "not_honoured": [], "seconds": {}}
    rows = [
        {
            **columns,
            **plain,
            "job_id": job_id,
            "key": f"fill_{n}",
            "number": n + 2,
            "attempt": 1,
            "variant": 0,
            "ended_at": now(),
        }
        for n in range(MANY)
    ]
    with database.engine.execution_options(write=True).begin() as connection:
        connection.execute(insert(CandidateRow), rows)
        connection.execute(update(Job).where(Job.id == job_id).values(candidate_count=MANY + 1))
        connection.execute(text("ANALYZE"))


def test_the_ten_thousandth_candidate_is_written_like_the_first(database: Database, tmp_path: Path) -> None:
    job_id = database.write(add_job)
    claimed = database.write(lambda session: claim(session, "w", timedelta(seconds=600)))
    assert claimed is not None
    store = ArtifactStore(tmp_path / "artifacts", sync=False)
    recorder = Recorder(database, store, Bulletin(), claimed, Identity("t", "c", "p", "v"), "pins", "")
    statements: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        statements.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    recorder(CandidateEnded(record(1), done=1, total=2))
    first, statements[:] = list(statements), []
    fill(database, job_id)
    statements.clear()
    recorder(CandidateEnded(record(2), done=2, total=2))
    last = list(statements)
    event.remove(database.engine, "before_cursor_execute", note)
    assert [statement for statement, _ in last] == [statement for statement, _ in first]
    row = database.read(lambda session: session.get(CandidateRow, (job_id, "cand_2")))
    assert row is not None
    assert row.number == MANY + 2
    for statement, parameters in last:
        if not statement.startswith(("BEGIN", "SAVEPOINT", "RELEASE")):
            assert "candidates" not in scanned(database, statement, parameters), statement


def scanned(database: Database, statement: str, parameters: Any) -> str:
    """The lines of the plan that read whole tables."""
    prefix = "EXPLAIN QUERY PLAN " if database.is_sqlite else "EXPLAIN "
    with database.engine.connect() as connection:
        plan = connection.exec_driver_sql(prefix + statement, parameters).all()
    words = ("SCAN", "Seq Scan")
    return "\n".join(line for row in plan if any(word in (line := str(row[-1])) for word in words))
