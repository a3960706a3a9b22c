"""What a rule refuses is shown as refused, and is no answer: not in the job, its page, a lookup or by being told."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.integration.warpwright.conftest import Service
from tests.integration.warpwright.test_told_results import Job
from warpwright.cli.exit_codes import ExitCode
from warpwright.service.testing import new_ir


def test_a_refused_choice_of_the_compiler_is_shown_and_never_the_answer(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    """It would be by far the fastest, and everything else ties or fails."""
    service = start()
    ir = new_ir(schedules=1, faults={"default": "refused", 0: "compile_failed"}, on_device={"default": {"ns": 1_000}})
    code, answer = service.tune(ir, tmp_path, "-n", "1")
    assert code == ExitCode.OK
    kinds = {candidate["id"]: candidate["kind"] for candidate in answer["candidates"]}
    outcomes = {candidate["kind"]: candidate["outcome"] for candidate in answer["candidates"]}
    assert outcomes["default"] == "refused"
    assert kinds[answer["best"]] != "default"
    assert "default" not in {kinds[each] for each in answer["tied"]}
    client = service.running.client
    job = client.get(f"/v1/jobs/{answer['job']}").json()
    assert (job["winner"]["id"], job["baseline"]["id"]) == (answer["best"], answer["best"])
    found = client.post("/v1/results:lookup", json={"ir": ir, "profile": "h200"}).json()["result"]
    assert (found["candidate"], found["measured"]) == (answer["best"], True)
    page = client.get(f"/jobs/{answer['job']}").text
    assert 'data-v="refused"' in page


def test_no_told_time_makes_a_refused_candidate_the_answer(start: Callable[..., Service], tmp_path: Path) -> None:
    job = Job(start(), tmp_path, faults={1: "refused"})
    assert job.tell()[0] == ExitCode.OK
    before = job.seen()
    rows = job.service.running.client.get(f"/v1/jobs/{job.id}/candidates").json()["items"]
    (refused,) = [row["id"] for row in rows if row["outcome"] == "refused"]
    document = json.loads(json.dumps(job.document).replace(job.measured()["candidate"], refused))
    code, problem = job.tell(document)
    assert (code, problem["error"]["code"]) == (ExitCode.REFUSED, "results-of-a-refused-candidate")
    assert job.seen() == before
