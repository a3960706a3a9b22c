"""What must hold after a chaos run, read from the database, the artifact folder and the broker, in plain SQL."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url

from warpwright.solver.domain import digest_bytes

__all__ = ["Facts", "check_artifacts", "check_broker", "check_database"]

Facts = dict[str, Any]

GIVEN_UP = 0.01
"""Share of candidates whose child may have been killed in each of its three tries: one kill in 200 after another does that."""


def check_database(url: str, jobs: int, candidates: int, measured: int) -> tuple[list[str], Facts]:
    """Everything that is wrong, as text, and some counts.

    Args:
        url: the database's.
        jobs: jobs that were submitted, each once.
        candidates: candidates that each of them must have.
        measured: jobs whose candidates must be measured; those of the others must be compiled.
    """
    engine = _engine(url)
    try:
        return _check(engine, jobs, candidates, measured)
    finally:
        engine.dispose()


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    return create_engine(parsed.set(drivername="postgresql+psycopg") if parsed.drivername == "postgresql" else parsed)


def _check(engine: Engine, jobs: int, candidates: int, measured: int) -> tuple[list[str], Facts]:
    problems: list[str] = []
    with engine.connect() as connection:

        def rows(query: str) -> Sequence[tuple[Any, ...]]:
            return [tuple(row) for row in connection.execute(text(query)).all()]

        if engine.dialect.name == "sqlite" and (
            rows("PRAGMA integrity_check") != [("ok",)] or rows("PRAGMA foreign_key_check")
        ):
            problems.append("the database is not sound")
        states = dict(rows("SELECT state, count(*) FROM jobs GROUP BY state"))
        if states != {"done": jobs}:
            problems.append(f"{jobs} jobs were submitted, but there are {states}")
        if rows("SELECT count(*), count(DISTINCT job_id) FROM batch_items") != [(jobs, jobs)]:
            problems.append("lines were lost, or share jobs although they should not")
        problems += [
            f"{job}: events {least} to {most} are {count}"
            for job, least, most, count in rows(
                "SELECT job_id, min(number), max(number), count(*) FROM job_events GROUP BY job_id"
                " HAVING min(number) <> 1 OR max(number) <> count(*)"
            )
        ]
        problems += _check_events(rows)
        attempts = rows("SELECT job_id, ending, count(*) FROM job_attempts GROUP BY job_id, ending")
        problems += [f"{job}: an attempt without an end" for job, ending, _ in attempts if ending is None]
        done = Counter({job: count for job, ending, count in attempts if ending == "done"})
        problems += [f"{job}: {count} attempts ended it" for job, count in done.items() if count != 1]
        found = rows("SELECT job_id, outcome, count(*) FROM candidates GROUP BY job_id, outcome")
        given_up = {
            (job, key)
            for job, key, failure in rows(
                "SELECT job_id, key, failure FROM candidates WHERE outcome = 'infrastructure'"
            )
            if _document(failure)["code"] == "killed"
        }
        if len(given_up) > GIVEN_UP * jobs * candidates:
            problems.append(f"candidates were given up, killed in each of their tries: {sorted(given_up)[:20]}")
        of_job: dict[str, dict[str, int]] = {}
        for job, outcome, count in found:
            of_job.setdefault(job, {})[outcome] = count
        for job, _ in given_up:
            # Nothing was lost: the record says so, no result is kept for it, and the rest of its job is as it must be.
            outcomes = of_job[job]
            rest = max(outcomes.keys() - {"infrastructure"}, key=lambda outcome: outcomes[outcome], default="compiled")
            outcomes.update({"infrastructure": outcomes["infrastructure"] - 1, rest: outcomes.get(rest, 0) + 1})
        shapes = Counter(tuple(sorted((o, n) for o, n in outcomes.items() if n)) for outcomes in of_job.values())
        wanted = (
            Counter({(("measured", candidates),): measured, (("compiled", candidates),): jobs - measured}) - Counter()
        )
        if shapes != wanted:
            problems.append(f"candidates by job are {dict(shapes)}, not {dict(wanted)}")
            problems += [
                f"{job}: {key} is {outcome}: {failure}"
                for job, key, outcome, failure in rows("SELECT job_id, key, outcome, failure FROM candidates")
                if outcome not in ("compiled", "measured") and (job, key) not in given_up
            ][:10]
        total = sum(count for _, _, count in attempts)
    endings = Counter[str]()
    for _, ending, count in attempts:
        endings[str(ending)] += count
    return problems, {"attempts": total, "endings": dict(endings), "given_up": len(given_up)}


def _check_events(rows: Any) -> list[str]:
    """No job ends twice, no candidate is built into a record twice."""
    ends: Counter[str] = Counter()
    built: Counter[tuple[str, str]] = Counter()
    for job, kind, data in rows("SELECT job_id, kind, data FROM job_events WHERE kind IN ('state', 'candidate')"):
        document = _document(data)
        if kind == "state" and document["state"] == "done":
            ends[job] += 1
        elif kind == "candidate" and document["outcome"] == "compiled":
            built[job, document["id"]] += 1
    problems = [f"{job}: {count} ends" for job, count in ends.items() if count != 1]
    return problems + [f"{job}: {name} built {count} times" for (job, name), count in built.items() if count != 1]


def _document(data: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(data) if isinstance(data, str) else data
    return document


def check_artifacts(folder: Path, url: str) -> tuple[list[str], Facts]:
    """Every file is what its name says, and every row has its file."""
    engine = _engine(url)
    with engine.connect() as connection:
        known = [row[0] for row in connection.execute(text("SELECT digest FROM artifacts")).all()]
    engine.dispose()
    problems: list[str] = []
    there = set()
    parts = 0
    for path in (folder / "artifacts").glob("??/*"):
        if path.name.startswith(".part-"):
            parts += 1
            continue
        digest = f"sha256:{path.parent.name}{path.name}"
        there.add(digest)
        if digest_bytes(path.read_bytes()) != digest:
            problems.append(f"artifact {digest} is half-written")
    problems += [f"artifact {digest} has a row and no file" for digest in known if digest not in there]
    return problems, {"artifacts": len(there), "parts_left_for_collection": parts}


def check_broker(redis: Any, queues: Sequence[str]) -> tuple[list[str], Facts]:
    """Nothing waits, nothing is unacknowledged, nobody waits for a task."""
    waiting = {queue: redis.llen(queue) for queue in queues if redis.llen(queue)}
    unacknowledged = redis.hlen("unacked")
    asked = len(list(redis.scan_iter("warpwright-asked:*")))
    problems = []
    if waiting or unacknowledged or asked:
        problems.append(f"the broker holds {waiting} waiting, {unacknowledged} unacknowledged, {asked} requested")
    statistics = redis.info("stats")
    return problems, {"redis_commands": statistics["total_commands_processed"]}
