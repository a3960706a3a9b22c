"""Both clients against a running service: every resource comes back typed."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from warpwright.client import AsyncClient, Client
from warpwright.errors import ServerError
from warpwright.kernel_file import KernelFile, KernelVariant
from warpwright.remote import submission_of
from warpwright.service.results.schemas import LookupRequest
from warpwright.service.settings import Settings
from warpwright.service.solve.schemas import SolveRequest
from warpwright.service.testing.running import RunningService
from warpwright.service.tokens.schemas import TokenRequest, TokenScope
from warpwright.solver.domain import HardwareProfile
from warpwright.solver.profiles import load_profile
from warpwright.tuning.testing.toolchain import StandInToolchain, stand_in_ir

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    settings = Settings(data=tmp_path_factory.mktemp("data"), slow_artifact_sync=False)
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        yield running


@pytest.fixture
def client(server: RunningService) -> Iterator[Client]:
    with Client(server.url) as one:
        yield one


@pytest.fixture(scope="module")
def profile() -> HardwareProfile:
    return load_profile("h200")


def test_tokens_batches_and_single_candidates_are_resources_too(client: Client, profile: HardwareProfile) -> None:
    made = client.create_token(TokenRequest(name="ci", scopes=[TokenScope.READ]))
    admin = client.create_token(TokenRequest(name="boss", scopes=[TokenScope.ADMIN]))
    try:
        with Client(client.connection.base_url, token=admin.secret) as boss:
            made = boss.rotate_token(made.id)
            assert {token.name for token in boss.tokens()} >= {"ci", "boss"}
            job = boss.wait(boss.submit(submission_of(toy("one-candidate"), profile)).id, seconds=240.0)
            assert job.best is not None
            assert boss.candidate(job.id, job.best).outcome == "compiled"
            line = submission_of(toy("in-a-batch"), profile).model_dump_json(exclude_unset=True).encode()
            assert boss.submit_batch(line + b"\n", name="nightly").id in [batch.id for batch in boss.batches()]
    finally:
        with Client(client.connection.base_url, token=admin.secret) as boss:
            boss.revoke_token(made.id)
            boss.revoke_token(admin.id)


def test_the_client_covers_the_api() -> None:
    """Every operation has a call, but those of workers and of whoever watches the machine."""
    document = json.loads((ROOT / "service" / "openapi.json").read_text())
    others = {"/healthz", "/readyz", "/metrics", "/v1/artifacts/{}", "/v1/workers/{}"}
    wanted = {re.sub(r"\{[^}]*\}", "{}", path) for path in document["paths"]} - others
    text = (ROOT / "warpwright" / "client" / "calls.py").read_text()
    assert wanted <= {re.sub(r"\{[^}]*\}", "{}", path) for path in re.findall(r'"(/v1/[^"]*)"', text)}


def toy(salt: str) -> KernelFile:
    return KernelFile("toy", (KernelVariant(stand_in_ir(schedules=2, salt=salt)),))


def test_a_job_from_submission_to_deletion(client: Client, profile: HardwareProfile) -> None:
    submission = submission_of(toy("one"), profile, candidates=2)
    job = client.submit(submission, key="the same key")
    assert client.submit(submission, key="the same key").id == job.id
    ended = client.wait(job.id, seconds=240.0)
    assert ended.state.value == "done"
    events = list(client.events(job.id))
    assert [event.number for event in events] == sorted(event.number for event in events)
    assert {"state", "proposed", "candidate"} <= {event.kind for event in events}
    assert [event.number for event in client.events(job.id, after=events[-2].number)] == [events[-1].number]
    candidates = list(client.candidates(job.id))
    assert len(candidates) == ended.done
    best = next(each for each in candidates if each.id == ended.best)
    assert client.artifact(best.artifacts["binary"])
    assert job.id in {each.id for each in client.jobs(name="toy")}
    client.delete(job.id)
    with pytest.raises(ServerError) as caught:
        client.job(job.id)
    assert caught.value.status == 404


def test_what_was_tuned_is_found_and_listed(client: Client, profile: HardwareProfile) -> None:
    kernel = toy("two")
    ir = kernel.variants[0].ir
    assert not client.lookup(LookupRequest(ir=ir, profile="h200")).found
    job = client.wait(client.submit(submission_of(kernel, profile, candidates=2)).id, seconds=240.0)
    answer = client.lookup(LookupRequest(ir=ir, profile="h200"))
    assert answer.found
    assert answer.result is not None
    assert answer.result.id == job.best
    assert job.id in {result.job for result in client.results(profile="h200")}


def test_profiles_are_typed(client: Client, profile: HardwareProfile) -> None:
    assert "h200" in {each.name for each in client.profiles()}
    assert client.profile("h200").digest == profile.digest
    assert client.profile(profile.digest).document["name"] == "h200"


def test_solving_gives_a_verdict(client: Client) -> None:
    answer = client.solve(SolveRequest(ir=stand_in_ir(salt="three"), profile="h200", seconds=10.0))
    assert answer.status in ("proven_optimal", "feasible")
    assert answer.schedule is not None


def test_the_asynchronous_client_does_the_same(server: RunningService, profile: HardwareProfile) -> None:
    async def work() -> tuple[str, int, int]:
        async with AsyncClient(server.url) as one:
            job = await one.submit(submission_of(toy("four"), profile, candidates=2))
            events = [event async for event in one.events(job.id)]
            ended = await one.wait(job.id, seconds=240.0)
            return ended.state.value, len(events), len([each async for each in one.candidates(job.id)])

    state, events, candidates = asyncio.run(work())
    assert state == "done"
    assert events > candidates > 0
