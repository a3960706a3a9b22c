"""Build options of a job: told to every build alike, part of a result's identity, refused with a code of their own."""

from typing import Any

import httpx
import pytest

from tests.acceptance.service.jobs_over_http import candidates, finished, submit
from warpwright.service.testing import StandInToolchain, new_ir

FLUSHED = {"build_options": ["flush_denormals"]}


def lookup(client: httpx.Client, ir: str, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/v1/results:lookup", json={"ir": ir, "profile": "h200", **fields}).json()
    return answer


def test_every_build_gets_the_options_baselines_and_the_reference_too(client: httpx.Client) -> None:
    job = finished(client, submit(client, new_ir(schedules=2), **FLUSHED)["id"])
    assert job["build_options"] == ["flush_denormals"]
    views = [client.get(f"/v1/jobs/{job['id']}/candidates/{c['id']}").json() for c in candidates(client, job["id"])]
    assert {view["kind"] for view in views} == {"scheduled", "default", "role_based", "unspecialized"}
    assert [view["report"]["options"] for view in views] == [["flush_denormals"]] * 5


def test_a_result_answers_only_requests_with_its_options(client: httpx.Client) -> None:
    ir = new_ir()
    finished(client, submit(client, ir, **FLUSHED)["id"])
    plain = lookup(client, ir)
    assert plain["found"] is False
    assert plain["nearest"][0]["differs"] == {"build_options": ["", "flush_denormals"]}
    found = lookup(client, ir, **FLUSHED)
    assert found["found"] is True
    assert found["result"]["fingerprint"]["build_options"] == "flush_denormals"
    both = lookup(client, ir, build_options=["flush_denormals", "fast_math"])
    assert both["found"] is False
    refused = {"ir": ir, "profile": "h200", "relax": ["build_options"]}
    assert client.post("/v1/results:lookup", json=refused).status_code == 422


def test_builds_with_other_options_are_not_taken_over(start: Any) -> None:
    toolchain = StandInToolchain()
    client = start(toolchain).client
    ir = new_ir(schedules=2)
    plain = finished(client, submit(client, ir)["id"])
    assert len(toolchain.compiled) == 5
    flushed = finished(client, submit(client, ir, **FLUSHED)["id"])
    assert flushed["id"] != plain["id"]
    assert len(toolchain.compiled) == 10
    finished(client, submit(client, ir, **FLUSHED, fresh=False, seed=1)["id"])
    assert len(toolchain.compiled) == 10
    assert lookup(client, ir)["result"]["job"] == plain["id"]
    assert lookup(client, ir, **FLUSHED)["result"]["job"] == flushed["id"]


@pytest.mark.parametrize(
    ("profile", "option", "code"),
    [("h200", "no_such", "build-option-unknown"), ("ascend910b", "flush_denormals", "build-option-unsupported")],
)
def test_an_option_that_is_unknown_or_not_the_devices_is_refused(
    client: httpx.Client, profile: str, option: str, code: str
) -> None:
    body = {"ir": new_ir(), "profile": profile, "build_options": [option]}
    for path in ("/v1/jobs", "/v1/results:lookup"):
        answer = client.post(path, json=body)
        assert answer.status_code == 422
        assert (answer.json()["code"], answer.json()["place"]) == (code, "/build_options")
        assert option in answer.json()["detail"]


def test_a_refreshed_result_keeps_its_options(start: Any) -> None:
    tools = StandInToolchain("1")
    client = start(tools).client
    ir = new_ir(schedules=1)
    finished(client, submit(client, ir, **FLUSHED)["id"])
    tools.version = "2"
    (job,) = client.post("/v1/results:refresh", json={"stale": ["toolchain"]}).json()["jobs"]
    assert finished(client, job)["build_options"] == ["flush_denormals"]
    assert lookup(client, ir, **FLUSHED)["result"]["job"] == job
