"""Real jobs on every runner: TileLang reads and lowers an Ascend kernel, here in children and on Celery workers.

Slow (``make test-celery``): each runner imports TileLang in children of its own.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.service.jobs_over_http import candidates, finished, submit
from warpwright.tuning.children import Limits, Returned, run_task

KERNELS = Path(__file__).parents[2] / "integration" / "tuning" / "ascend" / "kernels.py"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def vector() -> str:
    """IR of a kernel for NPUs."""
    payload = {"path": str(KERNELS), "function": "vector", "set": {}}
    reply = run_task("kernel_file.read", payload, Limits(wall_seconds=240))
    assert isinstance(reply, Returned), reply
    return str(reply.value["variants"][0]["ir"])


def test_an_ascend_job_leaves_its_source_and_a_proof(start_real: Any, vector: str) -> None:
    client = start_real(child_memory_bytes=8 << 30).client
    job = submit(client, vector, profile="ascend950", candidates=2)
    for _ in range(20):
        if client.get(f"/v1/jobs/{job['id']}", params={"wait": 20.0}).json()["state"] == "done":
            break
    done = finished(client, job["id"])
    assert (done["state"], done["ending"], done["note"]) == ("done", "tuned", "lowered, not compiled, not measured"), (
        done
    )
    found = candidates(client, job["id"])
    assert {each["kind"] for each in found} == {"default", "scheduled"}
    best = next(each for each in found if each["id"] == done["best"])
    assert best["certificate"]["verified"] is True
    source = client.get(f"/v1/artifacts/{best['artifacts']['ascend_source']}")
    assert source.status_code == 200
    assert "(w & 1)" in source.text, "a buffer of two versions rotates"
    assert "tilelang" in best["fingerprint"]["toolchain"]
    assert submit(client, vector, profile="ascend950", candidates=2)["id"] == job["id"]
