"""Generated requests over the committed OpenAPI document: no server error, and every answer is one that the document names.

The short form of ``benchmarks.api``, which runs all of schemathesis's phases.
"""

import json
from typing import Any

import httpx
import pytest
import schemathesis
from fastapi import FastAPI, Response
from hypothesis import HealthCheck, settings
from schemathesis.checks import CheckFunction
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks

from tests.acceptance.service.schema_bodies import document
from warpwright.service.testing.running import RunningService

CHECKS: list[CheckFunction] = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]

schema = schemathesis.openapi.from_dict(document())


def judge(case: Any, url: str) -> None:
    """Send one generated request; AssertionError when its answer is none of those that the document names."""
    case.headers = {key: value for key, value in (case.headers or {}).items() if key.lower() not in ("host", "origin")}
    case.query = {key: value for key, value in (case.query or {}).items() if key != "wait"}
    try:
        response = case.call(base_url=url, timeout=30)
    except (httpx.InvalidURL, ValueError):
        return
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400:
        assert response.headers["content-type"][0] == "application/problem+json"
        assert json.loads(response.content)["code"]


@pytest.fixture(scope="module")
def running(shared_on_sqlite: RunningService) -> RunningService:
    return shared_on_sqlite


@schema.parametrize()
@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
def test_every_answer_is_documented(case: Any, running: RunningService) -> None:
    judge(case, running.url)


@pytest.mark.parametrize(
    ("status", "content", "media_type"),
    [
        (500, b'{"items": [], "next": null}', "application/json"),
        (418, b"{}", "application/json"),
        (200, b'{"items": 1}', "application/json"),
        (200, b'{"items": [], "next": null}', "text/plain"),
        (422, b"{}", "application/json"),
    ],
)
def test_the_judge_can_fail(status: int, content: bytes, media_type: str) -> None:
    broken = FastAPI()

    @broken.get("/v1/jobs")
    async def jobs() -> Response:
        return Response(content, status, media_type=media_type)

    described = schemathesis.openapi.from_dict(document())
    described.app = broken
    case = described["/v1/jobs"]["GET"].Case()
    with pytest.raises(FailureGroup):
        case.validate_response(case.call(), checks=CHECKS)
