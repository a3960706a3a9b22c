"""The client: typed answers, problem documents as errors, repetition only where it is harmless."""

import json
from collections.abc import Callable, Iterator

import httpx
import pytest

from warpwright.client import AsyncClient, Client
from warpwright.client.calls import Call, HttpAnswer
from warpwright.errors import ServerError, ServerUnreachable
from warpwright.solver.domain import digest_bytes

Handler = Callable[[httpx.Request], httpx.Response]

PROFILE = {
    "name": "h200",
    "digest": "sha256:" + "0" * 64,
    "title": "NVIDIA H200",
    "family": "cuda",
    "arch": "sm_90a",
    "builtin": True,
    "created_at": "2026-01-01T00:00:00Z",
}


def client(handler: Handler, **options: object) -> Client:
    return Client("http://server.test", transport=httpx.MockTransport(handler), **options)  # type: ignore[arg-type]  # keywords by name


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr("warpwright.client.synchronous.time.sleep", slept.append)
    return slept


def test_pages_are_followed_to_their_end() -> None:
    asked: list[str | None] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params.get("cursor"))
        following = "more" if len(asked) == 1 else None
        return httpx.Response(200, json={"items": [PROFILE], "next": following})

    assert [profile.name for profile in client(handler).profiles()] == ["h200", "h200"]
    assert asked == [None, "more"]


def test_a_problem_document_becomes_its_error() -> None:
    problem = {"code": "profile-missing-number", "detail": "no number 'sm.count'", "place": "sm.count", "status": 422}

    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(422, content=json.dumps(problem), headers={"content-type": "application/problem+json"})

    with pytest.raises(ServerError, match="no number") as caught:
        client(handler).profile("mine")
    assert (caught.value.status, caught.value.code, caught.value.place) == (422, "profile-missing-number", "sm.count")


def test_an_answer_that_is_none_of_ours_is_an_error() -> None:
    with pytest.raises(ServerError, match="502"):
        client(lambda request: httpx.Response(502, text="<html>bad gateway</html>")).profile("h200")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="<html>please log in</html>"),
        httpx.Response(200, json=[1, 2]),
        httpx.Response(200, content=b'{"name": ', headers={"content-type": "application/json"}),
        httpx.Response(200, json={**PROFILE, "created_at": "yesterday"}),
    ],
)
def test_a_successful_answer_that_is_none_of_ours_is_an_error_with_a_code(answer: httpx.Response) -> None:
    with pytest.raises(ServerError) as caught:
        client(lambda request: answer).profile("h200")
    assert (caught.value.code, caught.value.status) == ("server-answer-foreign", 200)


def test_a_redirection_says_where_to() -> None:
    moved = httpx.Response(308, headers={"Location": "https://farm.test/"})
    with pytest.raises(ServerError, match=r"308, moved to https://farm\.test/"):
        client(lambda request: moved).profile("h200")


@pytest.mark.parametrize("address", ["http://[farm", "http://farm:notaport", "not a url", "ftp://farm"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(ServerUnreachable) as caught, Client(address, retries=0) as one:
        one.profile("h200")
    assert address in str(caught.value)


def test_a_token_from_a_file_may_end_with_its_newline_and_no_other_is_sent() -> None:
    seen: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(200, json={"items": [PROFILE], "next": None})

    list(client(handler, token="ww_secret\n").profiles())
    assert seen == ["Bearer ww_secret"]
    with pytest.raises(ServerError, match="characters that a token cannot have") as caught:
        client(handler, token="ww_se\u00e9cret")
    assert "cret" not in str(caught.value)


def test_a_lost_connection_is_tried_again(no_sleep: list[float]) -> None:
    tries = 0

    def handler(request: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, json={"items": [], "next": None})

    assert list(client(handler).profiles()) == []
    assert len(no_sleep) == 2


def test_a_server_that_is_away_is_named() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(ServerUnreachable, match=r"http://server\.test"):
        client(handler).profile("h200")


def test_a_write_without_a_key_is_never_repeated(no_sleep: list[float]) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("slow")

    with pytest.raises(ServerUnreachable):
        client(handler).send(Call("POST", "/v1/jobs", lambda answer: answer, repeatable=False))
    assert no_sleep == []


def test_retry_after_is_honoured(no_sleep: list[float]) -> None:
    answers = [httpx.Response(503, headers={"Retry-After": "7"}), httpx.Response(200, json={"items": [], "next": None})]
    assert list(client(lambda request: answers.pop(0)).profiles()) == []
    assert no_sleep == [7.0]


def test_an_artifact_is_checked_against_its_digest() -> None:
    digest = digest_bytes(b"kernel")
    assert client(lambda request: httpx.Response(200, content=b"kernel")).artifact(digest) == b"kernel"
    with pytest.raises(ServerError, match="damaged"):
        client(lambda request: httpx.Response(200, content=b"other")).artifact(digest)


def test_the_token_is_sent_and_never_shown() -> None:
    seen: list[str | None] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("Authorization"))
        return httpx.Response(200, json={"items": [], "next": None})

    with client(handler, token="secret-word") as one:
        list(one.profiles())
        assert "secret-word" not in repr(one.connection)
    assert seen == ["Bearer secret-word"]


def test_a_name_cannot_leave_its_place_in_the_path() -> None:
    seen: list[bytes] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.raw_path)
        return httpx.Response(404, json={"code": "profile-unknown", "detail": "no"})

    with pytest.raises(ServerError):
        client(handler).profile("../jobs?x=1")
    assert seen == [b"/v1/profiles/..%2Fjobs%3Fx%3D1"]


async def _async_profiles(handler: Handler) -> list[str]:
    async with AsyncClient("http://server.test", transport=httpx.MockTransport(handler)) as one:
        return [profile.name async for profile in one.profiles()]


def test_the_asynchronous_client_gives_the_same() -> None:
    import asyncio

    answer = httpx.Response(200, json={"items": [PROFILE], "next": None})
    assert asyncio.run(_async_profiles(lambda request: answer)) == ["h200"]


def test_both_clients_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(Client) == public(AsyncClient)


def test_calls_parse_what_they_are_given() -> None:
    call = Call("GET", "/", lambda answer: answer.status)
    assert call.parse(HttpAnswer(204, b"")) == 204


STREAM = (
    b"retry: 1000\n\n"
    b'id: 1\nevent: state\ndata: {"number":1,"kind":"state","at":"2026-01-01T00:00:00Z","attempt":1,'
    b'"data":{"state":"solving"}}\n\n'
    b": still here\n\n"
    b'id: 2\nevent: candidate\ndata: {"number":2,"kind":"candidate","at":"2026-01-01T00:00:01Z","attempt":1,'
    b'"data":{"number":7}}\n\n'
)


class Broken(httpx.SyncByteStream):
    """A stream that gives its bytes and then loses the connection."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self.data
        raise httpx.ReadError("connection lost")


def test_events_are_read_as_they_happen() -> None:
    events = list(client(lambda request: httpx.Response(200, content=STREAM)).events("job_1"))
    assert [(event.number, event.kind) for event in events] == [(1, "state"), (2, "candidate")]
    assert events[1].data == {"number": 7}, "the candidate's own number, beside the event's"


def test_a_broken_stream_goes_on_where_it_broke() -> None:
    resumed: list[str | None] = []

    def handler(request: httpx.Request) -> httpx.Response:
        resumed.append(request.headers.get("Last-Event-ID"))
        if len(resumed) == 1:
            return httpx.Response(200, stream=Broken(STREAM[: STREAM.index(b": still")]))
        return httpx.Response(200, content=STREAM[STREAM.index(b"id: 2") :])

    assert [event.number for event in client(handler).events("job_1")] == [1, 2]
    assert resumed == [None, "1"]


def test_a_stream_of_an_unknown_job_is_an_error() -> None:
    problem = {"code": "job-not-found", "detail": "no such job"}
    with pytest.raises(ServerError, match="no such job"):
        list(client(lambda request: httpx.Response(404, json=problem)).events("job_1"))
