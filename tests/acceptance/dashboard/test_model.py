"""The model page on planted rows: what contradicts our constraints is named by family, with links, and nothing else is."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.acceptance.dashboard.conftest import accessible, keep
from warpwright.service.db import WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import CandidateRow, Job, Profile
from warpwright.service.settings import Settings
from warpwright.service.testing import StandInToolchain
from warpwright.service.testing.running import RunningService

JOB = "job_planted"


def plant(session: WriteSession, candidates: list[dict[str, Any]]) -> None:
    """One ended job with these candidates; what is not said is that of a scheduled, measured one."""
    profile = session.rows(Profile.__table__.select().where(Profile.name == "h200"))[0].digest
    session.add(
        Job(id=JOB, name="planted", state="done", work_digest="w", profile_digest=profile, request={}, ended_at=now(),
            ending="tuned", candidate_count=len(candidates), best="c1", note="measured", done=1, total=1)
    )  # fmt: skip
    session.flush()
    for number, given in enumerate(candidates, 1):
        values: dict[str, Any] = {
            "kind": "scheduled", "outcome": "measured", "forecast_ns": 1e5, "measured_ns": 1e5, "report": {}, "failure": None,
            "schedule": None, "certificate": None, **given,
        }  # fmt: skip
        names = ("ir_hash", "toolchain", "constraint_set", "protocol", "verification", "pins")
        values |= dict.fromkeys(names, "planted") | {"job_id": JOB, "key": f"c{number}", "number": number}
        empty = {"structure": {}, "measurement": {}, "not_honoured": [], "seconds": {}, "status": ""}
        session.add(CandidateRow(attempt=1, variant=0, profile=profile, **values, **empty))


def verdict(*families: str, threads: int = 384, launched: int = 384) -> dict[str, Any]:
    violations = [{"family": each, "rule": "rule", "message": f"{each} says no", "place": ""} for each in families]
    return {"launch": {"block_threads": launched}, "verifier": {"threads": threads, "violations": violations}}


@pytest.fixture
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., tuple[RunningService, str]]]:
    opened: list[RunningService] = []

    def show(*candidates: dict[str, Any]) -> tuple[RunningService, str]:
        settings = Settings(data=tmp_path_factory.mktemp("model"), slow_artifact_sync=False, job_slots=0)
        running = RunningService(settings, toolchain=StandInToolchain())
        opened.append(running.__enter__())
        running.context.database.write(lambda session: plant(session, list(candidates)))
        return running, running.client.get("/model").text

    yield show
    for running in opened:
        running.__exit__(None, None, None)


def row_of(text: str, label: str, family: str) -> str:
    """The table row of a family in the region of that label."""
    region = text.split(f'aria-label="{label}"')[1].split("</table>")[0]
    found = re.findall(rf'<tr><th scope="row">{family}</th>.*?</tr>', region)
    return found[0] if found else ""


Show = Callable[..., tuple[RunningService, str]]


def test_a_choice_that_runs_and_that_we_refuse_is_false_infeasible(model: Show) -> None:
    running, text = model(
        {"kind": "default", "report": verdict("register_pool", "shared_memory")},
        {"kind": "role_based", "report": verdict("register_pool")},
    )
    row = row_of(text, "False infeasible", "register pool")
    assert "<b>2</b>" in row
    assert "register_pool says no" in row
    assert f'href="/jobs/{JOB}/candidates/c1"' in row
    assert "<b>1</b>" in row_of(text, "False infeasible", "shared memory")
    assert "Of 2 such choices that ran, 2 were judged and 2 refused" in text
    assert running.client.get(f"/jobs/{JOB}/candidates/c1").status_code == 200


def test_what_did_not_run_or_was_another_schedule_is_no_evidence(model: Show) -> None:
    _, text = model(
        {"kind": "default", "report": verdict("register_pool", launched=256)},
        {"kind": "role_based", "report": verdict("deadlock"), "outcome": "wrong_result", "measured_ns": None},
        {"kind": "unspecialized"},
    )
    assert row_of(text, "False infeasible", "register pool") == ""
    assert row_of(text, "False infeasible", "deadlock") == ""
    assert "1 ran with another number of threads" in text
    assert "not known: no choice of the compiler" in text


def test_an_accepted_choice_is_agreement(model: Show) -> None:
    _, text = model({"kind": "default", "report": verdict()})
    assert "Of 1 such choices that ran, 1 were judged and 0 refused" in text
    assert "none: the verifier accepts each of the compiler" in text


def test_accepted_schedules_that_fail_are_false_feasible_by_family(model: Show, opened: Callable[..., Page]) -> None:
    def failed(outcome: str, code: str = "", report: dict[str, Any] | None = None) -> dict[str, Any]:
        failure = {
            "code": code or outcome.replace("_", "-"),
            "message": f"{outcome} it was",
            "place": None,
            "detail": "",
        }
        return {"outcome": outcome, "failure": failure, "measured_ns": None, "report": report or {}}

    running, text = model(
        failed("timed_out", report={"ptxas": {}}),
        failed("wrong_result"),
        failed("compile_failed", "register-allocation-failed"),
        failed("compile_failed", "register-allocation-failed"),
        failed("timed_out"),
        {"kind": "default", **failed("wrong_result")},
        failed("infrastructure"),
        failed("refused"),
    )
    deadlock = row_of(text, "False feasible", "deadlock")
    assert "<b>1</b>" in deadlock, "a compiler that takes too long deadlocks nothing"
    assert f'href="/jobs/{JOB}/candidates/c1"' in deadlock
    assert "<b>1</b>" in row_of(text, "False feasible", "none known"), (
        "the compiler's own choice was never accepted by us"
    )
    need = row_of(text, "False feasible", "register need")
    assert "<b>2</b>" in need
    assert f'href="/jobs/{JOB}/candidates/c4"' in need
    assert "infrastructure it was" not in text
    page = opened()
    page.goto(running.url + "/model")
    accessible(page, "model")
    keep(page, "model-planted")


def test_a_schedule_and_a_certificate_of_another_version_leave_the_page_readable(model: Show) -> None:
    running, _ = model({"schedule": {"kind": "of tomorrow"}, "certificate": {"proof": "of tomorrow", "binding": ["x"]}})
    page = running.client.get(f"/jobs/{JOB}")
    assert page.status_code == 200
    assert "From idea to time" in page.text
    assert running.client.get(f"/jobs/{JOB}/candidates/c1").status_code == 200


def test_the_history_names_what_became_slower_and_what_had_changed(model: Show) -> None:
    running, _ = model({})

    def more(session: WriteSession) -> None:
        profile = session.rows(Profile.__table__.select().where(Profile.name == "h200"))[0].digest
        for number, time in enumerate((1e5, 1.01e5, 1.1e5, 1.0e5)):
            job, at = f"job_{number}", now() + timedelta(minutes=number)
            session.add(
                Job(id=job, name="planted", state="done", work_digest=job, profile_digest=profile, request={}, ended_at=at,
                    ending="tuned", candidate_count=1, best="c", note="measured", done=1, total=1)
            )  # fmt: skip
            session.flush()
            same = dict.fromkeys(("ir_hash", "constraint_set", "protocol", "verification", "pins"), "planted")
            session.add(
                CandidateRow(job_id=job, key="c", number=1, attempt=1, variant=0, kind="scheduled", outcome="measured",
                             measured_ns=time, structure={}, measurement={}, report={"roofline": {"global_bytes": 10**6}},
                             not_honoured=[], seconds={}, profile=profile, toolchain=f"tilelang {number // 2}", **same)
            )  # fmt: skip

    running.context.database.write(more)
    text = running.client.get("/history").text
    slower = text.split('aria-label="Answers that became slower"')[1].split("</table>")[0]
    assert re.findall(r'href="/jobs/(\w+)"', slower) == ["job_2"], "one per cent is noise, and faster is no regression"
    assert "+9.5 %" in slower
    assert "other toolchain" in slower
    assert "moves 1.0 MB" in text
    assert "4 answers" in text, "the planted job of the fixture recorded no work, and is another kernel for all we know"
