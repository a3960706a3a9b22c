"""Tokens expire and rotate; a browser keeps a session and not the token, and all of the dashboard's links work with it."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from sqlalchemy import update

from tests.acceptance.service.conftest import bearer, guarded_service, settings_for
from warpwright.service.db import Database, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.migrate import upgrade
from warpwright.service.db.models import LoginSession, Token
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.running import RunningService
from warpwright.service.tokens.schemas import TokenScope
from warpwright.service.tokens.service import create

COOKIE = "warpwright_session"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with guarded_service(tmp_path_factory.mktemp("guarded")) as found:
        yield found


def browser(running: RunningService) -> httpx.Client:
    """A client with cookies of its own."""
    return httpx.Client(base_url=running.url, timeout=60, verify=False)


def log_in(client: httpx.Client, secret: str, **headers: str) -> httpx.Response:
    return client.post("/login", data={"token": secret}, headers=headers)


def test_the_cookie_is_a_session_that_ends_at_the_logout(guarded: Any) -> None:
    running, secrets = guarded
    with browser(running) as client:
        assert log_in(client, secrets[TokenScope.TUNE]).status_code == 303
        session = client.cookies[COOKIE]
        assert session != secrets[TokenScope.TUNE]
        assert client.get("/jobs").status_code == 200
        assert "Log out" in client.get("/jobs").text
        # The session's secret opens nothing but the browser's own requests.
        assert running.client.get("/v1/jobs", headers=bearer(session)).status_code == 401
        assert running.client.get("/jobs", headers=bearer(session)).status_code == 303
        assert client.post("/v1/jobs", json={"ir": new_ir(), "profile": "h200"}).status_code == 401
        assert client.post("/logout").status_code == 303
        assert client.get("/jobs", headers={"cookie": f"{COOKIE}={session}"}).status_code == 303


def test_a_session_ends_by_itself_and_with_its_token(guarded: Any) -> None:
    running, secrets = guarded
    admin = bearer(secrets[TokenScope.ADMIN])
    made = running.client.post("/v1/tokens", json={"name": "x", "scopes": ["read"]}, headers=admin).json()
    over = update(LoginSession).values(expires_at=now() - timedelta(seconds=1))
    ends: dict[str, Callable[[], object]] = {
        "expiry": lambda: running.context.database.write(lambda session: session.execute(over)),
        "revocation": lambda: running.client.delete(f"/v1/tokens/{made['id']}", headers=admin),
    }
    for name, end in ends.items():
        with browser(running) as client:
            assert log_in(client, made["secret"]).status_code == 303
            end()
            assert client.get("/jobs").status_code == 303, name


def test_every_link_of_the_dashboard_works_with_tokens_on(guarded: Any) -> None:
    running, secrets = guarded
    submitted = running.client.post(
        "/v1/jobs", json={"ir": new_ir(), "profile": "h200"}, headers=bearer(secrets[TokenScope.TUNE])
    ).json()
    ended = running.client.get(f"/v1/jobs/{submitted['id']}?wait=60", headers=bearer(secrets[TokenScope.READ])).json()
    assert ended["state"] == "done"
    with browser(running) as client:
        log_in(client, secrets[TokenScope.READ])
        seen, waiting = set(), ["/", f"/jobs/{submitted['id']}"]
        while waiting:
            address = waiting.pop()
            if address in seen:
                continue
            seen.add(address)
            with client.stream("GET", address) as answer:
                assert answer.status_code == 200, address
                if "text/html" not in answer.headers["content-type"]:
                    continue
                answer.read()
            pages = re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL)
            for link in re.findall(r'(?:href|src|hx-get)="([^"#]+)', pages):
                target = urljoin(address, link.replace("&amp;", "&"))
                if not urlsplit(target).netloc and not target.startswith("data:"):
                    waiting.append(target)
    assert len([address for address in seen if address.startswith("/v1/")]) > 1, "downloads are links of the API"


def test_a_token_expires_and_is_replaced(guarded: Any) -> None:
    running, secrets = guarded
    client, admin = running.client, bearer(secrets[TokenScope.ADMIN])
    body = {"name": "ci", "scopes": ["tune"], "expires_in_days": 7}
    old = client.post("/v1/tokens", json=body, headers=admin).json()
    new = client.post(f"/v1/tokens/{old['id']}:rotate", json={"overlap_seconds": 3600}, headers=admin)
    assert new.status_code == 201
    assert (new.json()["name"], new.json()["scopes"]) == ("ci", ["tune"])
    assert new.json()["expires_at"] > old["expires_at"] > new.json()["created_at"]
    for each in (old, new.json()):
        assert client.get("/v1/jobs", headers=bearer(each["secret"])).status_code == 200
    at_once = client.post(f"/v1/tokens/{new.json()['id']}:rotate", json={}, headers=admin).json()
    past = update(Token).where(Token.id == at_once["id"]).values(expires_at=now() - timedelta(seconds=1))
    running.context.database.write(lambda session: session.execute(past))
    refused = client.get("/v1/jobs", headers=bearer(at_once["secret"]))
    assert (refused.status_code, refused.json()["code"]) == (401, "token-unknown")
    assert client.post(f"/v1/tokens/{at_once['id']}:rotate", json={}, headers=admin).status_code == 404


def test_guessing_is_slowed_down(tmp_path: Any) -> None:
    settings = settings_for(tmp_path, require_tokens=True, max_login_failures=3, public_url="https://tune.example")
    database = Database(settings.url)
    upgrade(database)

    def make(session: WriteSession) -> str:
        return create(session, "all", [TokenScope.READ])[1]

    secret = database.write(make)
    database.close()
    with RunningService(settings, toolchain=StandInToolchain()) as running, browser(running) as client:
        foreign = log_in(client, secret, origin="https://elsewhere.example")
        assert foreign.status_code == 403
        behind = log_in(client, secret, origin="https://tune.example", host="internal:1")
        assert (behind.status_code, "Secure" in behind.headers["set-cookie"]) == (303, True)
        assert [log_in(client, f"ww_wrong{n}").status_code for n in range(3)] == [401] * 3
        refused = log_in(client, secret)
        assert (refused.status_code, "too-many-logins" in refused.text) == (429, True)
