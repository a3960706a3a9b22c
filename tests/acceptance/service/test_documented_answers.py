"""Real answers hold what the OpenAPI document promises: a tuning with measurements, checks at other sizes and failures."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.acceptance.service.conftest import settings_for
from tests.acceptance.service.jobs_over_http import finished
from tests.acceptance.service.schema_bodies import document
from warpwright.lowering.compile.result import to_document
from warpwright.lowering.testing.device import simulated_kernel
from warpwright.service.api_description import EXAMPLES
from warpwright.service.testing import new_ir
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import Certificate, Pins, Schedule, load
from warpwright.tuning.measure.devices import Devices
from warpwright.tuning.task_runners.local import LocalRunner
from warpwright.tuning.testing.on_runner import SIMULATED, StandInOnRunner
from warpwright.tuning.verdicts import VERDICT

SCHEMAS = document()["components"]["schemas"]
LOADED = {"WarpSchedule": Schedule, "BufferSchedule": Schedule, "Certificate": Certificate, "Pins": Pins}


def faults(schema: dict[str, Any], value: Any, schemas: dict[str, Any] = SCHEMAS) -> list[str]:
    """Where a value is not what a schema of the document says."""
    validator = jsonschema_rs.validator_for({**schema, "components": {"schemas": schemas}})
    return [
        f"{'/'.join(map(str, error.instance_path))}: {error.message[:200]}" for error in validator.iter_errors(value)
    ]


def component(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def closed(schemas: dict[str, Any]) -> dict[str, Any]:
    """The schemas without leave for keys that they do not name."""
    shut = copy.deepcopy(schemas)
    for schema in shut.values():
        if schema.get("additionalProperties") is True:
            schema["additionalProperties"] = False
    return shut


class Documented:
    """Asks a service, and holds every answer against what the document says of its operation."""

    def __init__(self, service: RunningService) -> None:
        self._client = service.client

    def ask(self, method: str, template: str, body: Any = None, **names: str) -> Any:
        answer = self._client.request(method, template.format(**names), json=body)
        described = document()["paths"][template][method.lower()]["responses"][str(answer.status_code)]
        (schema,) = [content["schema"] for content in described["content"].values()]
        value = answer.json()
        assert faults(schema, value) == [], (method, template)
        return value


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Documented, str, str]]:
    """A service whose measurements come from sessions on the simulated device, an ended job on it, and the job's kernel."""
    runner = LocalRunner(2, warm=False)
    tools = StandInOnRunner(runner, Devices([SIMULATED]))
    tools.plain.device = True
    ir = new_ir(schedules=4, faults={1: "crashed", 2: "over_resource"}, wrong=[3])
    size = {"name": "M=8", "ir": new_ir(schedules=4)}
    with RunningService(settings_for(tmp_path_factory.mktemp("documented")), toolchain=tools) as service:
        body = {"variants": [{"ir": ir, "params": {"BM": 128}, "sizes": [size]}], "profile": "h200"}
        job = service.client.post("/v1/jobs", json=body).json()["id"]
        finished(service.client, job)
        yield Documented(service), job, ir


def test_a_job_and_its_candidates(asked: tuple[Documented, str, str]) -> None:
    api, job, _ = asked
    told = api.ask("GET", "/v1/jobs/{job_id}", job_id=job)
    assert told["winner"]["params"] == {"BM": 128}
    page = api.ask("GET", "/v1/jobs/{job_id}/candidates", job_id=job)
    assert {each["outcome"] for each in page["items"]} >= {"measured", "crashed", "over_resource", "wrong_result"}
    one = api.ask("GET", "/v1/jobs/{job_id}/candidates/{candidate_id}", job_id=job, candidate_id=told["best"])
    assert one == told["winner"]
    assert one["measurement"]["sizes"][0]["name"] == "M=8"
    assert "products" not in one


def test_what_a_session_recorded_is_described_key_by_key(asked: tuple[Documented, str, str]) -> None:
    api, job, _ = asked
    rows = api.ask("GET", "/v1/jobs/{job_id}/candidates", job_id=job)["items"]
    timed = [row["measurement"] for row in rows if row["outcome"] == "measured"]
    assert timed
    assert all(record["device"]["name"] and record["checks"] and record["rounds_ns"] for record in timed)
    for record in timed:
        assert faults(component("Measurement"), record, closed(SCHEMAS)) == []


def test_what_a_build_recorded_is_described_key_by_key() -> None:
    kernel = to_document(simulated_kernel("k"))
    violation = {"family": "occupancy", "rule": "threads", "message": "too many", "place": ""}
    report = {key: value for key, value in kernel.items() if key not in ("source", "binary")}
    report[VERDICT] = {"threads": 384, "violations": [violation]}
    assert faults(component("BuildReport"), report, closed(SCHEMAS)) == []
    assert faults(component("BuildReport"), {**report, "unheard": 1}, closed(SCHEMAS)) != []


def test_stored_results_and_what_is_known_at_once(asked: tuple[Documented, str, str]) -> None:
    api, job, ir = asked
    for body in ({"ir": ir, "profile": "h200"}, {"ir": ir, "profile": "h200", "pins": {"schema": "warpwright.pins/1"}}):
        found = api.ask("POST", "/v1/results:lookup", body)
        assert found["result"]["job"] == job
    assert api.ask("POST", "/v1/results:lookup", {"ir": new_ir(), "profile": "h200"})["result"] is None
    api.ask("GET", "/v1/results")
    now = api.ask("POST", "/v1/jobs", {"ir": ir, "profile": "h200", "mode": "now", "fresh": True})["now"]
    assert now["source"] == "cache"
    unknown = api.ask("POST", "/v1/jobs", {"ir": new_ir(), "profile": "h200", "mode": "now"})["now"]
    assert unknown["source"] == "solved"


def test_a_schedule_without_a_build(asked: tuple[Documented, str, str]) -> None:
    api, _, ir = asked
    pins = {"schema": "warpwright.pins/1", "consumer_warpgroups": 2}
    assert api.ask("POST", "/v1/solve", {"ir": ir, "profile": "h200", "pins": pins})["pins"]["consumer_warpgroups"] == 2
    infeasible = api.ask("POST", "/v1/solve", {"ir": new_ir("infeasible"), "profile": "h200"})
    assert infeasible["conflicts"][0]["family"] == "shared_memory"


def test_profiles(asked: tuple[Documented, str, str]) -> None:
    api, _, _ = asked
    assert api.ask("GET", "/v1/profiles/{name}", name="h200")["document"]["name"] == "h200"


def test_the_judge_can_fail() -> None:
    example = json.loads(EXAMPLES.read_text("utf-8"))["WarpSchedule"][0]
    assert faults(component("WarpSchedule"), {**example, "num_warps": "four"}) != []
    assert faults(component("WarpSchedule"), {key: value for key, value in example.items() if key != "schema"}) != []


@pytest.mark.parametrize("name", json.loads(EXAMPLES.read_text("utf-8")))
def test_examples_are_what_they_are_examples_of(name: str) -> None:
    for example in SCHEMAS[name]["examples"]:
        assert faults(component(name), example, closed(SCHEMAS)) == []
        if name in LOADED:
            load(LOADED[name], example)


def test_numbers_that_json_does_not_have_are_null() -> None:
    record = {"median_ns": None, "checks": [{"comparisons": [{"relative_error": None}]}], "not_finite": ["median_ns"]}
    assert faults(component("Measurement"), record) == []


@pytest.mark.parametrize("file", ["tune_attention.json"])
def test_what_an_earlier_version_measured_on_an_h200_still_fits(file: str) -> None:
    told = json.loads((Path(__file__).resolve().parents[3] / "docs/results/h200" / file).read_text("utf-8"))
    for candidate in told["candidates"]:
        assert faults(component("Measurement"), candidate["measurement"]) == []
        assert faults(component("BuildReport"), candidate["report"]) == []
        if candidate["schedule"] is not None:
            assert faults(component("WarpSchedule"), candidate["schedule"]) == []
            assert faults(component("Certificate"), candidate["certificate"]) == []
