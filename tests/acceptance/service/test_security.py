"""Tokens: none needed on loopback, nothing without one elsewhere; scopes; only hashes are kept."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from tests.acceptance.service.conftest import bearer, guarded_service, settings_for
from warpwright.service.app import TokensMissing, create_app
from warpwright.service.db import Database
from warpwright.service.db.migrate import upgrade
from warpwright.service.db.models import Token
from warpwright.service.settings import Settings, is_loopback
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.running import RunningService
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import create


@pytest.fixture
def guarded(tmp_path: Any) -> Any:
    with guarded_service(tmp_path) as found:
        yield found


@pytest.mark.parametrize("guard", [{"host": "0.0.0.0"}, {"require_tokens": True}])
def test_without_tokens_it_refuses_to_be_reachable(tmp_path: Any, guard: dict[str, Any]) -> None:
    app = create_app(settings_for(tmp_path, **guard), toolchain=StandInToolchain())

    async def begin() -> None:
        async with app.router.lifespan_context(app):
            raise AssertionError("it started")

    with pytest.raises(TokensMissing):
        asyncio.run(begin())


@pytest.mark.parametrize("header", ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"])
def test_without_tokens_nobody_comes_through_a_proxy(shared_on_sqlite: RunningService, header: str) -> None:
    refused = shared_on_sqlite.client.get("/v1/jobs", headers={header: "203.0.113.7"})
    assert (refused.status_code, refused.json()["code"]) == (400, "proxy-not-allowed")
    assert "WARPWRIGHT_REQUIRE_TOKENS" in refused.json()["detail"]


def test_behind_a_proxy_on_loopback_a_token_is_needed_and_any_name_is_answered(tmp_path: Any) -> None:
    settings = settings_for(tmp_path, require_tokens=True)
    database = Database(settings.url)
    upgrade(database)
    secret = database.write(lambda session: create(session, "all", [TokenScope.READ])[1])
    database.close()
    through = {"host": "warpwright.example", "x-forwarded-for": "203.0.113.7"}
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        refused = running.client.get("/v1/jobs", headers=through)
        assert (refused.status_code, refused.json()["code"]) == (401, "token-required")
        assert running.client.get("/v1/jobs", headers=through | bearer(secret)).status_code == 200
        assert running.client.get("/v1/jobs").status_code == 401


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_what_counts_as_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    assert Settings(host=host).tokens_required is not loopback


def test_scopes(guarded: Any) -> None:
    running, secrets = guarded
    client: httpx.Client = running.client
    body = {"ir": new_ir(), "profile": "h200"}
    nobody = client.get("/v1/jobs")
    assert (nobody.status_code, nobody.json()["code"]) == (401, "token-required")
    assert nobody.headers["www-authenticate"] == "Bearer"
    unknown = client.get("/v1/jobs", headers=bearer("ww_no"))
    assert (unknown.status_code, unknown.json()["code"]) == (401, "token-unknown")
    malformed = client.get("/v1/jobs", headers={"authorization": "Basic x"})
    assert (malformed.status_code, malformed.json()["code"]) == (401, "token-malformed")
    for scope, secret in secrets.items():
        assert client.get("/v1/jobs", headers=bearer(secret)).status_code == 200
        submitted = client.post("/v1/jobs", json=body, headers=bearer(secret)).status_code
        assert (submitted in (200, 202)) is (scope in (TokenScope.TUNE, TokenScope.ADMIN))
        assert (client.get("/v1/tokens", headers=bearer(secret)).status_code == 200) is (scope is TokenScope.ADMIN)
    assert client.get("/healthz").status_code == 200


def test_tokens_are_made_listed_and_revoked(guarded: Any) -> None:
    running, secrets = guarded
    client: httpx.Client = running.client
    admin = bearer(secrets[TokenScope.ADMIN])
    made = client.post("/v1/tokens", json={"name": "ci", "scopes": ["tune"]}, headers=admin).json()
    assert made["secret"].startswith("ww_")
    listed = client.get("/v1/tokens", headers=admin).json()["items"]
    assert "secret" not in listed[0]
    assert {token["name"] for token in listed} == {"read", "tune", "work", "admin", "ci"}
    assert client.delete(f"/v1/tokens/{made['id']}", headers=admin).status_code == 204
    assert client.get("/v1/jobs", headers=bearer(made["secret"])).status_code == 401
    assert client.delete(f"/v1/tokens/{made['id']}", headers=admin).status_code == 404


def test_a_revoked_token_ends_the_streams_that_it_opened(guarded: Any) -> None:
    running, secrets = guarded
    client: httpx.Client = running.client
    admin, tuner = bearer(secrets[TokenScope.ADMIN]), bearer(secrets[TokenScope.TUNE])
    body = {"ir": new_ir(schedules=1, faults={0: "hang"}), "profile": "h200"}
    job = client.post("/v1/jobs", json=body, headers=tuner).json()
    for path in (f"/v1/jobs/{job['id']}/events", "/live"):
        made = client.post("/v1/tokens", json={"name": "watcher", "scopes": ["read"]}, headers=admin).json()
        with httpx.stream("GET", f"{running.url}{path}", headers=bearer(made["secret"]), timeout=20.0) as stream:
            chunks = stream.iter_bytes()
            assert next(chunks)
            client.delete(f"/v1/tokens/{made['id']}", headers=admin)
            for _ in chunks:
                pass  # until the service ends the stream; the client's own timeout would raise
    assert client.get(f"/v1/jobs/{job['id']}", headers=tuner).json()["state"] not in ("done", "cancelled", "failed")
    client.post(f"/v1/jobs/{job['id']}:cancel", headers=tuner)


def test_only_a_hash_is_kept(guarded: Any) -> None:
    running, secrets = guarded
    with running.context.database.reading() as session:
        rows = session.scalars(select(Token)).all()
    kept = " ".join(f"{row.id} {row.hash} {row.name}" for row in rows)
    assert all(secret not in kept for secret in secrets.values())


def test_shared_work_stops_only_when_nobody_wants_it(guarded: Any) -> None:
    running, secrets = guarded
    client: httpx.Client = running.client
    other = client.post(
        "/v1/tokens", json={"name": "other", "scopes": ["tune"]}, headers=bearer(secrets[TokenScope.ADMIN])
    ).json()["secret"]
    body = {"ir": new_ir(schedules=1, faults={0: "hang"}), "profile": "h200"}
    first = client.post("/v1/jobs", json=body, headers=bearer(secrets[TokenScope.TUNE])).json()
    second = client.post("/v1/jobs", json=body, headers=bearer(other)).json()
    assert first["id"] == second["id"]
    path = f"/v1/jobs/{first['id']}"
    assert client.post(f"{path}:cancel", headers=bearer(other)).json()["cancel_requested"] is False
    assert client.post(f"{path}:cancel", headers=bearer(secrets[TokenScope.TUNE])).json()["cancel_requested"] is True
    assert client.get(path, params={"wait": 10}, headers=bearer(other)).json()["state"] == "cancelled"


def test_too_many_unfinished_jobs_of_one_owner(start: Any) -> None:
    client = start(job_slots=0, max_queued_jobs=2).client
    for _ in range(2):
        assert client.post("/v1/jobs", json={"ir": new_ir(), "profile": "h200"}).status_code == 202
    refused = client.post("/v1/jobs", json={"ir": new_ir(), "profile": "h200"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-jobs")
    assert int(refused.headers["retry-after"]) > 0


def test_work_that_is_there_is_named_though_no_new_job_is_allowed(start: Any) -> None:
    client = start(job_slots=0, max_queued_jobs=1).client
    body = {"ir": new_ir(), "profile": "h200"}
    first = client.post("/v1/jobs", json=body)
    again = client.post("/v1/jobs", json=body)
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.json()["id"] == first.json()["id"]


def test_a_batch_is_cancelled_by_its_owner_or_an_administrator(guarded: Any) -> None:
    running, secrets = guarded
    client: httpx.Client = running.client
    admin, owner = bearer(secrets[TokenScope.ADMIN]), bearer(secrets[TokenScope.TUNE])
    made = client.post("/v1/tokens", json={"name": "stranger", "scopes": ["tune"]}, headers=admin).json()
    line = json.dumps({"ir": new_ir(schedules=1, faults={0: "hang"}), "profile": "h200"})
    batch = client.post("/v1/batches", content=line, headers=owner).json()
    path = f"/v1/batches/{batch['id']}"
    refused = client.post(f"{path}:cancel", headers=bearer(made["secret"]))
    assert (refused.status_code, refused.json()["code"]) == (403, "batch-not-yours")
    assert client.get(path, headers=owner).json()["cancelled"] is False
    assert client.post(f"{path}:cancel", headers=admin).json()["cancelled"] is True
