"""A job over HTTP from submission to a verified artifact."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from pydantic import JsonValue

from tests.acceptance.service.conftest import settings_for
from tests.acceptance.service.jobs_over_http import candidates, finished, submit
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import CandidateKind, Failure, Outcome
from warpwright.tuning.toolchain import Built, Measurement, StepFailed


def test_a_job_runs_to_a_ranked_answer(client: httpx.Client) -> None:
    job = submit(client, new_ir(schedules=3))
    assert job["state"] in ("queued", "solving", "building", "done")
    done = finished(client, job["id"])
    assert (done["state"], done["ending"], done["note"]) == ("done", "tuned", "compiled, not measured")
    assert (done["done"], done["total"]) == (6, 6)
    assert done["winner"]["kind"] == "scheduled"
    assert done["speedup"] is None
    rows = client.get(f"/v1/jobs/{job['id']}/candidates").json()["items"]
    assert [c["kind"] for c in rows] == ["unspecialized", "default", *["scheduled"] * 3, "role_based"]
    assert {c["outcome"] for c in rows} == {"compiled"}
    best = next(c for c in rows if c["id"] == done["best"])
    source = client.get(f"/v1/artifacts/{best['artifacts']['tilelang_source']}")
    assert source.status_code == 200
    assert source.text.startswith("# stand-in schedule")
    assert best["certificate"]["schema"] == "warpwright.certificate/1"
    assert best["fingerprint"]["toolchain"] == "stand-in 1"


def test_with_a_device_the_answer_is_measured_and_never_worse_than_the_default(start: Any) -> None:
    client = start(StandInToolchain(device=True)).client
    done = finished(client, submit(client, new_ir(schedules=2))["id"])
    assert done["note"] == "measured"
    assert done["speedup"] >= 1.0
    assert done["baseline"]["kind"] == "default"
    assert done["tied"] == [done["best"]]
    worse = finished(client, submit(client, new_ir(schedules=0))["id"])
    assert worse["winner"]["kind"] == "default"


def test_a_family_keeps_its_variants_and_their_refusals(client: httpx.Client) -> None:
    body = {
        "variants": [
            {"ir": new_ir(schedules=1), "params": {"BM": 128}},
            {"ir": new_ir(schedules=1, refuse="foreign-code"), "params": {"BM": 256}},
            {"ir": new_ir(schedules=1), "params": {"BM": 64}},
        ],
        "profile": "h200",
    }
    job = client.post("/v1/jobs", json=body)
    assert job.status_code == 202, job.text
    done = finished(client, job.json()["id"])
    assert done["state"] == "done"
    assert [v["params"] for v in done["variants"]] == [{"BM": 128}, {"BM": 256}, {"BM": 64}]
    assert [v["failure"] and v["failure"]["code"] for v in done["variants"]] == [None, "foreign-code", None]
    assert done["done"] == 5


def test_an_infeasible_kernel_is_an_answer_with_families_and_numbers(client: httpx.Client) -> None:
    done = finished(client, submit(client, new_ir(infeasible=True))["id"])
    assert (done["state"], done["ending"]) == ("done", "infeasible")
    conflict = done["rejected"][0]["conflicts"][0]
    assert conflict["family"] == "shared_memory"
    assert "232448" in conflict["message"]
    assert conflict["relaxation"] == "drop BK to 64"
    assert done["winner"]["kind"] == "default"


def test_a_kernel_outside_schedules_keeps_the_compilers_choice(client: httpx.Client) -> None:
    done = finished(client, submit(client, new_ir(refuse="not-applicable"))["id"])
    assert (done["state"], done["ending"], done["winner"]["kind"]) == ("done", "not_applicable", "default")
    assert done["error"]["code"] == "not-applicable"


def test_every_candidates_fault_is_data(client: httpx.Client) -> None:
    faults = {0: "crashed", 1: "raise", 2: "not_honoured", 3: "over_resource", 4: "wrong_result"}
    done = finished(client, submit(client, new_ir(schedules=6, faults=faults))["id"])
    assert done["state"] == "done"
    rows = client.get(f"/v1/jobs/{done['id']}/candidates", params={"kind": "scheduled"}).json()["items"]
    assert [c["outcome"] for c in rows] == [
        "crashed",
        "infrastructure",
        "not_honoured",
        "over_resource",
        "wrong_result",
        "compiled",
    ]
    assert rows[1]["failure"]["code"] == "unexpected-error"
    assert done["best"] == rows[5]["id"]


class Hungry(StandInToolchain):
    """A compiler that needs 12 % more shared memory than the plan of the first proposal says."""

    PLANNED, NEEDED, LIMIT = 212_992, 238_551, 232_448

    def compile(self, ir: str, kind: CandidateKind, schedule: Any, *rest: Any, **named: Any) -> Built:
        if kind is CandidateKind.SCHEDULED and schedule.num_warps == 4:
            message = f"{self.NEEDED} bytes of shared memory, {self.LIMIT} fit"
            gap: dict[str, JsonValue] = {"shared_bytes": {"planned": self.PLANNED, "found": self.NEEDED}}
            raise StepFailed(Outcome.OVER_RESOURCE, Failure("shared-memory", message), report=gap)
        return super().compile(ir, kind, schedule, *rest, **named)


def test_a_kernel_that_needs_more_than_planned_fails_alone_and_its_gap_is_kept(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path), toolchain=Hungry()) as service:
        done = finished(service.client, submit(service.client, new_ir(schedules=3))["id"])
        rows = candidates(service.client, done["id"], kind="scheduled")
        assert [row["outcome"] for row in rows] == ["over_resource", "compiled", "compiled"]
        assert (done["state"], done["best"]) == ("done", rows[1]["id"])
        failed = service.client.get(f"/v1/jobs/{done['id']}/candidates/{rows[0]['id']}").json()
        assert failed["report"]["shared_bytes"] == {"planned": Hungry.PLANNED, "found": Hungry.NEEDED}
        assert failed["failure"]["code"] == "shared-memory"
        assert str(Hungry.LIMIT) in failed["failure"]["message"]


class Drifting(StandInToolchain):
    """A device that takes twice as long in every further session."""

    sessions = 0

    def measure(self, *arguments: Any, **named: Any) -> Iterator[tuple[str, Measurement | StepFailed]]:
        self.sessions += 1
        for candidate, measured in super().measure(*arguments, **named):
            assert isinstance(measured, Measurement)
            yield candidate, Measurement(measured.nanoseconds * 2.0**self.sessions, measured.record)


def test_the_winner_is_always_one_of_the_jobs_own_candidates(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path), toolchain=Drifting(device=True)) as service:
        ir = new_ir(schedules=2)
        fast = finished(service.client, submit(service.client, ir)["id"])
        slow = finished(service.client, submit(service.client, ir, fresh=True)["id"])
        assert slow["winner"]["measured_ns"] == 2 * fast["winner"]["measured_ns"]
        own = {row["id"]: row["measured_ns"] for row in candidates(service.client, slow["id"])}
        assert own[slow["best"]] == slow["winner"]["measured_ns"] == min(own.values())
        # The cache keeps the better one, and says of which job it is.
        found = service.client.post("/v1/results:lookup", json={"ir": ir, "profile": "h200"}).json()
        assert found["result"]["job"] == fast["id"]


def test_pages_follow_their_cursors(client: httpx.Client) -> None:
    done = finished(client, submit(client, new_ir(schedules=8))["id"])
    seen: list[str] = []
    cursor = None
    while True:
        params = {"limit": 3, **({"cursor": cursor} if cursor else {})}
        page = client.get(f"/v1/jobs/{done['id']}/candidates", params=params).json()
        assert len(page["items"]) <= 3
        seen += [c["id"] for c in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 11
    for _ in range(4):
        submit(client, new_ir(schedules=0))
    first = client.get("/v1/jobs", params={"limit": 2}).json()
    second = client.get("/v1/jobs", params={"limit": 2, "cursor": first["next"]}).json()
    ids = [job["id"] for job in first["items"] + second["items"]]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 4


def test_the_same_request_twice_is_the_same_job(client: httpx.Client) -> None:
    ir = new_ir()
    first = client.post("/v1/jobs", json={"ir": ir, "profile": "h200"})
    second = client.post("/v1/jobs", json={"ir": ir, "profile": "h200"})
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json()["id"] == second.json()["id"]
    finished(client, first.json()["id"])
    third = client.post("/v1/jobs", json={"ir": ir, "profile": "h200"})
    assert third.json()["id"] == first.json()["id"]
    other = submit(client, ir, profile="h100")
    assert other["id"] != first.json()["id"]
    again = submit(client, ir, fresh=True)
    assert again["id"] != first.json()["id"]
