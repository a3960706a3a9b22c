"""What a rule refuses is shown as refused, and is no answer: not in the job, its page, a lookup or by being told."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

from tests.integration.warpwright.conftest import Service
from tests.integration.warpwright.test_told_results import Job
from warpwright.cli.exit_codes import ExitCode
from warpwright.kernel_file import read_kernel_file
from warpwright.service.settings import Settings
from warpwright.service.testing import new_ir
from warpwright.service.testing.running import RunningService
from warpwright.tuning.children import ChildPool


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


def test_a_default_that_would_hang_is_named_where_nothing_else_is_known_yet(pool: ChildPool, tmp_path: Path) -> None:
    """``mode=now`` with pins that no schedule keeps: a build would have run the compiler's default, which hangs the device."""
    file = Path(__file__).parents[1] / "lowering" / "kernels" / "two_blocks.py"
    ir = read_kernel_file(file, pool=pool).variants[0].ir
    pins = {"schema": "warpwright.pins/1", "depths": [{"buffer": "As", "depth": 12}]}
    body = {"ir": ir, "profile": "h200", "pins": pins, "mode": "now", "candidates": 0}
    settings = Settings(data=tmp_path, slow_artifact_sync=False, child_memory_bytes=8 << 30, job_slots=0)
    with RunningService(settings) as running:
        now = running.client.post("/v1/jobs", json=body, timeout=240).json()["now"]
    assert (now["source"], now["status"]) == ("default", "infeasible")
    assert now["refused"].startswith("register_pool/pool-exceeded: ")


def test_a_result_of_other_rules_is_held_to_todays(start: Callable[..., Service], tmp_path: Path) -> None:
    service = start()
    ir = new_ir(schedules=1, faults={"default": "compile_failed"}, on_device={0: {"ns": 1_000}})
    _, answer = service.tune(ir, tmp_path, "-n", "1")
    assert next(c["kind"] for c in answer["candidates"] if c["id"] == answer["best"]) == "scheduled"
    stored = sqlite3.connect(tmp_path / "data" / "warpwright.db")
    stored.execute("UPDATE results SET constraint_set = 'stand-in/0', key = 'of-other-rules'")
    stored.commit()
    asked = {"ir": ir, "profile": "h200", "relax": ["constraint_set"]}
    client = service.running.client
    found = client.post("/v1/results:lookup", json=asked).json()
    assert (found["found"], found["relaxed"]) == (True, ["constraint_set"])
    by_hash = client.post(
        "/v1/results:lookup", json={**asked, "ir": None, "ir_hash": found["fingerprint"]["ir"]}
    ).json()
    assert by_hash["found"] is False
    assert "only with the kernel's IR" in by_hash["reason"]
    ((text,),) = stored.execute("SELECT answer FROM results").fetchall()
    document = json.loads(text)
    document["schedule"]["num_warps"] = 20
    stored.execute("UPDATE results SET answer = ?", (json.dumps(document),))
    stored.commit()
    stored.close()
    refused = client.post("/v1/results:lookup", json=asked).json()
    assert (refused["found"], refused["result"]) == (False, None)
    assert refused["reason"] == "a result under stand-in/0 is held back: warp_ranges/too-many-warps: 20 warps, 16 fit"
