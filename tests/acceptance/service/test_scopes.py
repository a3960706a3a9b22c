"""Every operation has one scope and is refused without it; every page leads those without a token to the login."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from tests.acceptance.service.conftest import bearer, guarded_service
from warpwright.service.openapi import PATH
from warpwright.service.testing import new_ir
from warpwright.service.testing.running import RunningService
from warpwright.service.tokens.schemas import TokenScope

R, T, W, A = TokenScope.READ, TokenScope.TUNE, TokenScope.WORK, TokenScope.ADMIN
ALLOWED = {R: {R, T, W, A}, T: {T, A}, W: {W, A}, A: {A}}
"""Who may, by the scope that an operation asks for: ``admin`` includes all, ``tune`` and ``work`` include ``read``."""

OPERATIONS = {
    "get /healthz": None,
    "get /readyz": None,
    "get /metrics": R,
    "get /v1/artifacts/{digest}": R,
    "put /v1/artifacts/{digest}": W,
    "get /v1/batches": R,
    "post /v1/batches": T,
    "get /v1/batches/{batch_id}": R,
    "get /v1/batches/{batch_id}/items": R,
    "get /v1/batches/{batch_id}/results": R,
    "post /v1/batches/{batch_id}:cancel": T,
    "get /v1/jobs": R,
    "post /v1/jobs": T,
    "get /v1/jobs/{job_id}": R,
    "delete /v1/jobs/{job_id}": T,
    "get /v1/jobs/{job_id}/candidates": R,
    "get /v1/jobs/{job_id}/candidates/{candidate_id}": R,
    "get /v1/jobs/{job_id}/events": R,
    "get /v1/jobs/{job_id}/log": R,
    "post /v1/jobs/{job_id}:cancel": T,
    "post /v1/jobs/{job_id}:tell": W,
    "get /v1/profiles": R,
    "post /v1/profiles": T,
    "get /v1/profiles/{name}": R,
    "get /v1/results": R,
    "post /v1/results:lookup": R,
    "post /v1/results:refresh": T,
    "post /v1/solve": T,
    "get /v1/tokens": A,
    "post /v1/tokens": A,
    "delete /v1/tokens/{token_id}": A,
    "post /v1/tokens/{token_id}:rotate": A,
    "get /v1/workers": R,
    "put /v1/workers/{worker_id}": W,
    "post /v1/workers/{worker_id}:drain": A,
}
"""Written out, so that no new operation gets a scope that nobody has thought of."""

BODIES = {"post /v1/results:lookup": {"ir_hash": "x", "profile": "h200"}}
"""This one looks at its body first, as it cannot afford nested dependencies."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningService, dict[TokenScope, str]]]:
    with guarded_service(tmp_path_factory.mktemp("scopes")) as found:
        yield found


def test_the_document_says_the_same() -> None:
    described = json.loads(PATH.read_text(encoding="utf-8"))["paths"]
    found = {
        f"{method} {path}": operation["security"]
        for path, by_method in described.items()
        for method, operation in by_method.items()
    }
    assert found == {name: [{}, {"token": [scope.value]}] if scope else [] for name, scope in OPERATIONS.items()}


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_each_operation_is_refused_without_its_scope(guarded: Any, operation: str) -> None:
    running, secrets = guarded
    client: httpx.Client = running.client
    method, path = operation.split()
    path = path.replace("{", "").replace("}", "")
    needed = OPERATIONS[operation]
    # PUT of an artifact takes bytes; the others take JSON or nothing.
    content: dict[str, Any] = {} if method in ("get", "delete") else {"json": BODIES.get(operation, {})}
    nobody = client.request(method, path, **content)
    if needed is None:
        assert nobody.status_code == 200
        return
    assert (nobody.status_code, nobody.json()["code"]) == (401, "token-required")
    for scope, secret in secrets.items():
        answer = client.request(method, path, headers=bearer(secret), **content)
        if scope in ALLOWED[needed]:
            assert answer.status_code not in (401, 403), answer.text
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, "scope-missing"), answer.text


def test_every_page_needs_a_token(guarded: Any) -> None:
    running, _ = guarded
    described = {path for operation in OPERATIONS for path in operation.split()[1:]}
    open_to_all = {"/login", "/openapi.json", "/static"}
    pages = {
        (method, str(found.path))
        for found in iter_route_contexts(running.app.routes)
        for method in sorted(found.methods or {"GET"})
        if found.path not in described | open_to_all and method not in ("HEAD", "OPTIONS")
    }
    assert {("GET", "/"), ("GET", "/live"), ("GET", "/jobs")} <= pages
    for method, path in sorted(pages):
        answer = running.client.request(method, path.replace("{", "").replace("}", ""), follow_redirects=False)
        refused = answer.status_code == 401 or (answer.status_code, answer.headers.get("location")) == (303, "/login")
        assert refused or path == "/logout", (method, path, answer.status_code)


def test_a_job_is_removed_by_its_owner_or_an_administrator(guarded: Any) -> None:
    running, secrets = guarded
    client: httpx.Client = running.client
    owner, admin = bearer(secrets[T]), bearer(secrets[A])
    other = bearer(
        client.post("/v1/tokens", json={"name": "other", "scopes": ["tune"]}, headers=admin).json()["secret"]
    )
    jobs = [
        client.post("/v1/jobs", json={"ir": new_ir(schedules=0), "profile": "h200"}, headers=owner).json()["id"]
        for _ in range(2)
    ]
    for job in jobs:
        client.get(f"/v1/jobs/{job}", params={"wait": 60}, headers=owner)
        refused = client.delete(f"/v1/jobs/{job}", headers=other)
        assert (refused.status_code, refused.json()["code"]) == (403, "job-not-yours")
    assert client.delete(f"/v1/jobs/{jobs[0]}", headers=owner).status_code == 204
    assert client.delete(f"/v1/jobs/{jobs[1]}", headers=admin).status_code == 204
