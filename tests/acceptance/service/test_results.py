"""Lookup, relaxations, nearest entries, staleness, refresh, reuse; the cache rows of the bug and pitfall lists."""

import json
from typing import Any

import httpx

from tests.acceptance.service.jobs_over_http import candidates, finished, submit
from warpwright.service.db.base import now
from warpwright.service.db.models import StoredResult
from warpwright.service.results import repository
from warpwright.service.testing import StandInToolchain, new_ir, stand_in_ir
from warpwright.solver.domain import Fingerprint


def lookup(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/results:lookup", json={"profile": "h200", **fields})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_a_finished_job_answers_lookups(client: httpx.Client) -> None:
    ir = new_ir()
    assert lookup(client, ir=ir)["reason"] == "there is no result of this kernel"
    job = finished(client, submit(client, ir)["id"])
    answer = lookup(client, ir=ir)
    assert answer["found"] is True
    assert answer["relaxed"] == []
    assert answer["result"]["candidate"] == job["best"]
    assert answer["result"]["fingerprint"] == answer["fingerprint"]
    assert answer["result"]["schedule"]["schema"] == "warpwright.warp-schedule/1"
    source = client.get(f"/v1/artifacts/{answer['result']['artifacts']['tilelang_source']}")
    assert source.status_code == 200


def test_the_fast_path_and_the_general_path_say_the_same(client: httpx.Client) -> None:
    ir = new_ir()
    finished(client, submit(client, ir)["id"])
    general = lookup(client, ir=ir, pins={"schema": "warpwright.pins/1"})
    learned = lookup(client, ir=ir)
    fast = lookup(client, ir_hash=general["fingerprint"]["ir"])
    assert general == learned == fast


def test_names_do_not_matter_and_constants_do(client: httpx.Client) -> None:
    finished(client, submit(client, stand_in_ir("first", salt="names"))["id"])
    assert lookup(client, ir=stand_in_ir("second", salt="names"))["found"] is True
    reordered = json.dumps(json.loads(stand_in_ir("third", salt="names")), sort_keys=False, indent=3)
    assert lookup(client, ir=reordered)["found"] is True
    assert lookup(client, ir=stand_in_ir("first", salt="namez"))["found"] is False


def test_profiles_do_not_mix(client: httpx.Client) -> None:
    ir = new_ir()
    finished(client, submit(client, ir)["id"])
    missing = lookup(client, ir=ir, profile="h100")
    assert missing["found"] is False
    assert missing["reason"] == "results of this kernel differ in profile"
    assert list(missing["nearest"][0]["differs"]) == ["profile"]


def test_a_change_of_one_column_misses_and_a_named_relaxation_says_so(client: httpx.Client) -> None:
    ir = new_ir()
    finished(client, submit(client, ir)["id"])
    for column, value in (("toolchain", "stand-in 0"), ("protocol", "stand-in/0")):
        missing = lookup(client, ir=ir, **{column: value})
        assert missing["found"] is False
        assert list(missing["nearest"][0]["differs"]) == [column]
        relaxed = lookup(client, ir=ir, **{column: value}, relax=[column])
        assert relaxed["found"] is True
        assert relaxed["relaxed"] == [column]
    assert lookup(client, ir=ir, pins={"schema": "warpwright.pins/1", "consumer_warpgroups": 2})["found"] is False


def test_kernel_and_device_cannot_be_relaxed(client: httpx.Client) -> None:
    response = client.post("/v1/results:lookup", json={"ir_hash": "x", "profile": "h200", "relax": ["profile"]})
    assert response.status_code == 422


def test_unmeasured_results_can_be_refused(client: httpx.Client) -> None:
    ir = new_ir()
    finished(client, submit(client, ir)["id"])
    answer = lookup(client, ir=ir, measured_only=True)
    assert answer["found"] is False
    assert answer["reason"] == "the result was never measured"


def test_a_family_is_found_as_a_whole_and_by_its_members(client: httpx.Client) -> None:
    irs = [new_ir(schedules=1), new_ir(schedules=1)]
    response = client.post("/v1/jobs", json={"variants": [{"ir": ir} for ir in irs], "profile": "h200"})
    finished(client, response.json()["id"])
    assert lookup(client, variants=irs)["found"] is True
    assert lookup(client, variants=irs[::-1])["result"] == lookup(client, variants=irs)["result"]
    assert lookup(client, ir=irs[1])["result"]["variant"] == 1
    assert lookup(client, variants=irs[:1])["result"]["variant"] == 0


def test_a_new_compiler_makes_results_stale_and_refresh_tunes_them_again(start: Any) -> None:
    tools = StandInToolchain("1")
    client = start(tools).client
    ir = new_ir()
    old = finished(client, submit(client, ir)["id"])
    assert client.get("/v1/results", params={"stale": "toolchain"}).json()["items"] == []
    tools.version = "2"
    stale = client.get("/v1/results", params={"stale": "toolchain"}).json()["items"]
    assert [item["stale"] for item in stale] == [{"toolchain": ["stand-in 1", "stand-in 2"]}]
    assert lookup(client, ir=ir)["found"] is False
    refreshed = client.post("/v1/results:refresh", json={"stale": ["toolchain"]})
    assert refreshed.status_code == 202
    (job,) = refreshed.json()["jobs"]
    assert job != old["id"]
    finished(client, job)
    assert lookup(client, ir=ir)["result"]["job"] == job
    again = client.post("/v1/results:refresh", json={"stale": ["toolchain"]}).json()
    assert (again["jobs"], again["created"]) == ([job], 0)


def test_candidates_of_another_job_are_not_built_again(start: Any) -> None:
    tools = StandInToolchain()
    client = start(tools).client
    ir = new_ir(schedules=6)
    first = finished(client, submit(client, ir, candidates=2)["id"])
    assert len(tools.compiled) == 5
    second = finished(client, submit(client, ir, candidates=4)["id"])
    assert len(tools.compiled) == 7
    reused = [c["reused_from"] for c in candidates(client, second["id"])]
    assert reused.count(first["id"]) == 5
    assert reused.count(None) == 2
    finished(client, submit(client, ir, candidates=4, fresh=True)["id"])
    assert len(tools.compiled) == 14


def test_a_damaged_artifact_is_a_miss_and_is_built_again(start: Any) -> None:
    tools = StandInToolchain()
    service = start(tools)
    client = service.client
    ir = new_ir(schedules=1)
    job = finished(client, submit(client, ir)["id"])
    best = next(c for c in candidates(client, job["id"]) if c["id"] == job["best"])
    digest = best["artifacts"]["binary"]
    name = digest.removeprefix("sha256:")
    path = service.context.store.folder / name[:2] / name[2:]
    path.write_bytes(path.read_bytes()[:-1])
    damaged = client.get(f"/v1/artifacts/{digest}")
    assert (damaged.status_code, damaged.json()["code"]) == (410, "artifact-damaged")
    assert client.get(f"/v1/artifacts/{best['artifacts']['cuda_source']}").status_code == 200
    built = len(tools.compiled)
    finished(client, submit(client, ir, candidates=2)["id"])
    assert len(tools.compiled) == built + 1
    assert client.get(f"/v1/artifacts/{digest}").status_code == 200


def test_only_the_candidates_own_faults_are_remembered(start: Any) -> None:
    tools = StandInToolchain()
    client = start(tools).client
    ir = new_ir(schedules=3, faults={0: "crashed", 1: "infrastructure", 2: "device_lost"})
    finished(client, submit(client, ir)["id"])
    first = list(tools.compiled)
    job = finished(client, submit(client, ir, candidates=3)["id"])
    # A fault of ours is tried three times within the job, a lost device once; the crash is remembered.
    assert tools.compiled[len(first) :] == ["scheduled:1"] * 3 + ["scheduled:2"]
    assert [c["outcome"] for c in candidates(client, job["id"], kind="scheduled")] == [
        "crashed",
        "infrastructure",
        "device_lost",
    ]


def test_a_refresh_with_a_limit_goes_on_by_its_cursor_until_all_are_tuned_again(start: Any) -> None:
    tools = StandInToolchain("1")
    client = start(tools).client
    old = {finished(client, submit(client, new_ir(schedules=1))["id"])["id"] for _ in range(3)}
    tools.version = "2"
    refreshed: list[str] = []
    body: dict[str, Any] = {"stale": ["toolchain"], "limit": 1}
    for more in (True, True, False):
        answer = client.post("/v1/results:refresh", json=body).json()
        assert (answer["created"], answer["more"], answer["next"] is not None) == (1, more, more)
        refreshed += answer["jobs"]
        body["cursor"] = answer["next"]
    assert len(set(refreshed)) == 3
    assert not old & set(refreshed)


def test_pins_are_never_stale(client: httpx.Client) -> None:
    finished(client, submit(client, new_ir(schedules=1))["id"])
    assert client.get("/v1/results", params={"stale": "pins"}).status_code == 422
    assert client.post("/v1/results:refresh", json={"stale": ["pins"]}).status_code == 422


def test_the_nearest_entry_is_found_among_many_newer_ones(shared: Any) -> None:
    ir = new_ir(schedules=1)
    finished(shared.client, submit(shared.client, ir)["id"])
    wanted = lookup(shared.client, ir=ir)["fingerprint"]

    def newer(session: Any) -> None:
        first = repository.by_key(session, Fingerprint(**wanted).key())
        row = {column.key: getattr(first, column.key) for column in StoredResult.__table__.columns}
        for number in range(250):
            other = {"toolchain": "old", "protocol": "old", "pins": f"pins {number}"}
            key = Fingerprint(**{**wanted, **other}).key()
            session.insert_missing(StoredResult, [{**row, **other, "key": key, "updated_at": now()}])

    shared.context.database.write(newer)
    missing = lookup(shared.client, ir=ir, toolchain="other")
    assert list(missing["nearest"][0]["differs"]) == ["toolchain"]
    assert [len(entry["differs"]) for entry in missing["nearest"]] == [1, 3, 3, 3, 3]
