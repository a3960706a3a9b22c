"""Stored answers outlive the version that wrote them, and what is written now is what lookups always sent."""

import json

from warpwright.service.api_description import EXAMPLES
from warpwright.service.results.stored_answer import answer_of, read_answer, write_answer
from warpwright.solver.domain import (
    Candidate,
    CandidateKind,
    Certificate,
    Failure,
    Fingerprint,
    Outcome,
    Schedule,
    dump,
    load,
)

DOCUMENTS = json.loads(EXAMPLES.read_text("utf-8"))
FINGERPRINT = Fingerprint("ir", "sha256:p", "tilelang 0.1.15", "cuda-warp/2", "gpu-1", "v/1", "sha256:pins")
BEFORE = {
    "schema": "warpwright.result/1",
    "name": "attention",
    "job": "job_1",
    "candidate": "cand_1",
    "variant": 1,
    "kind": "scheduled",
    "outcome": "measured",
    "measured": True,
    "measured_ns": 3323040.0,
    "forecast_ns": 3348557.3,
    "status": "proven_optimal",
    "schedule": DOCUMENTS["WarpSchedule"][0],
    "certificate": DOCUMENTS["Certificate"][0],
    "measurement": DOCUMENTS["Measurement"][0],
    "artifacts": {"binary": "sha256:b"},
    "partial": False,
    "fingerprint": {"ir": "ir", "profile": "sha256:p"},
}
"""As version 0.1 stored it before the answer was derived from the candidate."""


def test_an_answer_of_before_is_read() -> None:
    answer = read_answer(json.dumps({**BEFORE, "a_later_field": 1}))
    assert (answer.id, answer.kind, answer.outcome) == ("cand_1", CandidateKind.SCHEDULED, Outcome.MEASURED)
    assert answer.schedule == load(Schedule, BEFORE["schedule"])
    assert answer.time_ns == 3323040.0
    assert answer.artifacts == {"binary": "sha256:b"}


def test_what_is_written_now_has_every_key_of_before() -> None:
    candidate = Candidate(
        id="cand_1",
        variant=1,
        kind=CandidateKind.SCHEDULED,
        outcome=Outcome.COMPILED,
        params={"BM": 192},
        schedule=load(Schedule, BEFORE["schedule"]),
        certificate=load(Certificate, BEFORE["certificate"]),
        forecast_ns=3348557.3,
        report=DOCUMENTS["BuildReport"][0],
        failure=Failure("device-busy", "another session"),
        products={"binary": b"\x7fELF\xff"},
    )
    answer = answer_of(
        candidate,
        name="attention",
        job="job_1",
        partial=False,
        artifacts={"binary": "sha256:b"},
        fingerprint=FINGERPRINT,
    )
    written = json.loads(write_answer(answer))
    assert set(BEFORE) - set(written) == set()
    assert set(written) - set(BEFORE) == {"forecast_cycles", "params", "structure"}
    assert written["schedule"] == dump(candidate.schedule) == BEFORE["schedule"]
    assert written["measured"] is False
    again = read_answer(write_answer(answer))
    assert (again.schedule, again.params, again.time_ns) == (candidate.schedule, candidate.params, 3348557.3)
