"""The better result stays, whoever writes when; on both databases."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.contract.service.test_claims import add_job
from warpwright.service.db import Database
from warpwright.service.db.base import now
from warpwright.service.db.models import StoredResult
from warpwright.service.results import repository
from warpwright.solver.domain import Fingerprint
from warpwright.solver.warp.problem import CONSTRAINT_SET


def row(job_id: str, time_ns: float | None, *, measured: bool = True, **columns: str) -> dict[str, Any]:
    values = {name: name for name in repository.COLUMNS} | columns
    return {
        "key": Fingerprint(**values).key(),
        **values,
        "pins_document": {},
        "name": "x",
        "job_id": job_id,
        "candidate": f"cand_{time_ns}",
        "measured": measured,
        "time_ns": time_ns,
        "answer": f'{{"time": {time_ns or 0}}}',
        "created_at": now(),
        "updated_at": now(),
    }


def changed(job_id: str, columns: dict[str, str]) -> dict[str, Any]:
    return row(job_id, 1.0, measured=True, **columns)


def stored(database: Database) -> StoredResult:
    (found,) = database.read(lambda session: repository.page(session, 10))
    return found


def test_fifty_writers_keep_the_best(database: Database) -> None:
    job_id = database.write(add_job)
    times = [float(10 * number) for number in range(100, 150)]  # closer ones tie
    random.Random(7).shuffle(times)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda t: database.write(lambda s: repository.keep_better(s, row(job_id, t))), times))
    assert (stored(database).time_ns, stored(database).candidate) == (1000.0, "cand_1000.0")


def test_measured_beats_any_forecast(database: Database) -> None:
    job_id = database.write(add_job)
    for time_ns, measured in ((10.0, False), (500.0, True), (1.0, False), (400.0, True), (450.0, True), (None, False)):
        database.write(lambda s: repository.keep_better(s, row(job_id, time_ns, measured=measured)))  # noqa: B023
    assert (stored(database).time_ns, stored(database).measured) == (400.0, True)


def test_nearest_entries_are_ordered_by_the_number_of_differing_columns(database: Database) -> None:
    job_id = database.write(add_job)
    for columns in ({"profile": "p2", "toolchain": "t2"}, {"toolchain": "t2"}, {"ir": "other"}):
        database.write(lambda s: repository.keep_better(s, changed(job_id, columns)))  # noqa: B023
    wanted = Fingerprint(**{name: name for name in repository.COLUMNS})
    near = database.read(lambda session: repository.nearest(session, wanted, 5))
    assert [sorted(wanted.differences(found)) for found, _ in near] == [["toolchain"], ["profile", "toolchain"]]


def test_stale_means_any_named_column_has_another_value(database: Database) -> None:
    job_id = database.write(add_job)
    for columns in ({}, {"toolchain": "t2"}, {"protocol": "p2"}):
        database.write(lambda s: repository.keep_better(s, changed(job_id, columns)))  # noqa: B023
    present = {"toolchain": ["toolchain"], "protocol": ["protocol"]}
    assert len(database.read(lambda s: repository.page(s, 10, stale=present))) == 2
    assert len(database.read(lambda s: repository.page(s, 10, stale={"toolchain": ["toolchain"]}))) == 1


def test_results_of_an_older_constraint_set_are_stale_for_that_reason(database: Database) -> None:
    """``cuda-warp/3`` is from before releases had fences: a schedule of it may compute wrong numbers."""
    job_id = database.write(add_job)
    for name in ("cuda-warp/3", CONSTRAINT_SET):
        database.write(lambda s: repository.keep_better(s, changed(job_id, {"constraint_set": name})))  # noqa: B023
    present = {"constraint_set": [CONSTRAINT_SET]}
    (old,) = database.read(lambda s: repository.page(s, 10, stale=present))
    assert (old.constraint_set, old.toolchain) == ("cuda-warp/3", "toolchain")
