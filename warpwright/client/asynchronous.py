"""The client for asyncio programs. ``synchronous.py`` is derived from this module: run ``make client`` after a change."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx

from warpwright.client import calls
from warpwright.client.calls import Call
from warpwright.client.sse import EventLines
from warpwright.client.transport import DELAYS, STREAM_TIMEOUT, Connection, answer_of, retry_delay, unreachable
from warpwright.service.batches.schemas import BatchSummary, BatchView, ItemView
from warpwright.service.candidates.schemas import CandidateView
from warpwright.service.jobs.schemas import EventView, JobSubmission, JobSummary, JobView
from warpwright.service.pages import Page
from warpwright.service.profiles.schemas import ProfileSummary, ProfileUpload, ProfileView
from warpwright.service.results.schemas import LookupAnswer, LookupRequest, RefreshAnswer, RefreshRequest, ResultView
from warpwright.service.solve.schemas import SolveAnswer, SolveRequest
from warpwright.service.tokens.schemas import NewToken, TokenRequest, TokenView
from warpwright.service.workers.schemas import WorkerView

__all__ = ["AsyncClient"]

T = TypeVar("T")

ENDED = frozenset({"done", "failed", "cancelled"})


class AsyncClient:
    """One server's resources, typed. Close it, or use it as an asynchronous context manager.

    Args:
        server: address; default: ``WARPWRIGHT_SERVER``, else this machine.
        token: access token; default: ``WARPWRIGHT_TOKEN``.
        seconds: how long to wait for one answer, in addition to the wait that a long poll asks for.
        retries: how often a repeatable request is repeated after a lost connection, a 429 or a 503.
        transport: httpx transport, for tests without a network.

    Every method raises :class:`ServerError` for a problem document and :class:`ServerUnreachable` without an answer.
    """

    def __init__(
        self,
        server: str = "",
        *,
        token: str | None = None,
        seconds: float = 30.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.connection = Connection(server, token, seconds, retries)
        self._http = httpx.AsyncClient(
            base_url=self.connection.base_url, headers=self.connection.headers, transport=transport
        )

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Sends one call, and repeats it where that is safe."""
        attempt = 0
        while True:
            response = None
            try:
                response = await self._http.send(self.connection.request(self._http, call))
            except httpx.RequestError as error:
                delay = retry_delay(call, attempt, self.connection.retries, None)
                if delay is None:
                    raise unreachable(self.connection.base_url, error) from error
            else:
                delay = retry_delay(call, attempt, self.connection.retries, response)
                if delay is None:
                    return answer_of(response, call)
            await asyncio.sleep(delay)
            attempt += 1

    async def _items(self, page_after: Callable[[str | None], Call[Page[T]]]) -> AsyncIterator[T]:
        """Everything on all pages, each page asked for when it is reached."""
        cursor: str | None = None
        while True:
            page = await self.send(page_after(cursor))
            for item in page.items:
                yield item
            if (cursor := page.next) is None:
                return

    async def submit(self, submission: JobSubmission, *, key: str | None = None) -> JobView:
        """Asks for a tuning; the same ``key`` gives the same job, however often it is sent."""
        return await self.send(calls.submit_job(submission, key))

    async def job(self, job_id: str, *, wait: float | None = None) -> JobView:
        """A job, once it has ended or ``wait`` seconds have passed."""
        return await self.send(calls.job(job_id, wait))

    def jobs(self, **filters: Any) -> AsyncIterator[JobSummary]:
        """All jobs that match the filters, newest first, page by page."""
        return self._items(lambda cursor: calls.jobs({**filters, "cursor": cursor}))

    async def wait(self, job_id: str, *, seconds: float | None = None) -> JobView:
        """The job once it has ended, or its state after ``seconds``."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            left = 30.0 if deadline is None else min(30.0, max(0.0, deadline - time.monotonic()))
            job = await self.job(job_id, wait=left)
            if job.state.value in ENDED or (deadline is not None and time.monotonic() >= deadline):
                return job

    async def cancel(self, job_id: str) -> JobView:
        """Asks a job to stop; what it found so far stays."""
        return await self.send(calls.cancel_job(job_id))

    async def delete(self, job_id: str) -> None:
        """Removes an ended job with its candidates and events."""
        await self.send(calls.delete_job(job_id))

    async def refresh(self, request: RefreshRequest) -> RefreshAnswer:
        """Tunes stale results again; the old ones stay until they are deleted."""
        return await self.send(calls.refresh(request))

    async def upload_profile(self, upload: ProfileUpload) -> ProfileView:
        """Stores the user's own hardware profile."""
        return await self.send(calls.upload_profile(upload))

    async def submit_batch(self, text: bytes, *, name: str = "") -> BatchView:
        """Submits many kernels at once: JSON lines, one job submission per line."""
        return await self.send(calls.submit_batch(text, name))

    async def batch(self, batch_id: str) -> BatchView:
        """One status for all lines of a batch: counts, progress, estimate."""
        return await self.send(calls.batch(batch_id))

    def batches(self) -> AsyncIterator[BatchSummary]:
        """All batches, newest first."""
        return self._items(calls.batches)

    def tokens(self) -> AsyncIterator[TokenView]:
        """All access tokens, without their secrets."""
        return self._items(calls.tokens)

    async def create_token(self, request: TokenRequest) -> NewToken:
        """Creates an access token; its secret is in this answer only."""
        return await self.send(calls.create_token(request))

    async def rotate_token(self, token_id: str, overlap_seconds: float = 0.0) -> NewToken:
        """Replaces an access token; the old secret is accepted beside the new one for the overlap, in seconds."""
        return await self.send(calls.rotate_token(token_id, overlap_seconds))

    async def revoke_token(self, token_id: str) -> None:
        """Revokes an access token."""
        await self.send(calls.revoke_token(token_id))

    async def candidate(self, job_id: str, candidate_id: str) -> CandidateView:
        """One candidate of a job."""
        return await self.send(calls.candidate(job_id, candidate_id))

    def batch_items(self, batch_id: str) -> AsyncIterator[ItemView]:
        """The lines of a batch and their jobs or problems."""
        return self._items(lambda cursor: calls.batch_items(batch_id, cursor))

    async def batch_results(self, batch_id: str, shape: str = "jsonl") -> bytes:
        """The answers so far, one line for each line of the batch: ``jsonl`` or ``csv``."""
        return await self.send(calls.batch_results(batch_id, shape))

    async def cancel_batch(self, batch_id: str) -> BatchView:
        """Stops a batch; what it found so far stays."""
        return await self.send(calls.cancel_batch(batch_id))

    async def events(self, job_id: str, *, after: int = 0) -> AsyncIterator[EventView]:
        """A job's events as they happen, until it has ended; a lost connection is resumed where it broke."""
        lines = EventLines(after)
        attempt = 0
        while True:
            request = self.connection.request(self._http, calls.job_events(job_id, lines.headers))
            request.extensions["timeout"] = STREAM_TIMEOUT
            try:
                response = await self._http.send(request, stream=True)
                try:
                    if not response.is_success:
                        await response.aread()
                        answer_of(response, calls.job_events(job_id, {}))
                    async for line in response.aiter_lines():
                        event = lines.feed(line)
                        if event is not None:
                            attempt = 0
                            yield event
                    return
                finally:
                    await response.aclose()
            except httpx.RequestError as error:
                if attempt >= self.connection.retries:
                    raise unreachable(self.connection.base_url, error) from error
                await asyncio.sleep(DELAYS[min(attempt, len(DELAYS) - 1)])
                attempt += 1

    async def tell(self, job_id: str, results: Mapping[str, Any]) -> JobView:
        """Gives a job the results of a measured bundle."""
        return await self.send(calls.tell(job_id, results))

    async def log(self, job_id: str, *, cursor: str | None = None) -> Page[EventView]:
        """A page of a job's events, oldest first."""
        return await self.send(calls.log(job_id, cursor))

    async def lookup(self, request: LookupRequest) -> LookupAnswer:
        """The best stored result of a kernel on a device, or why there is none."""
        return await self.send(calls.lookup(request))

    def results(self, **filters: Any) -> AsyncIterator[ResultView]:
        """All stored results that match the filters."""
        return self._items(lambda cursor: calls.results({**filters, "cursor": cursor}))

    async def solve(self, request: SolveRequest) -> SolveAnswer:
        """One schedule with its proof, or the families that conflict; nothing is built or stored."""
        return await self.send(calls.solve(request))

    def candidates(self, job_id: str) -> AsyncIterator[CandidateView]:
        """All candidates of a job that have ended."""
        return self._items(lambda cursor: calls.candidates(job_id, cursor))

    async def artifact(self, digest: str) -> bytes:
        """The bytes with this digest, checked against it."""
        return await self.send(calls.artifact(digest))

    async def report(self, job_id: str) -> str:
        """A job's page as one self-contained HTML file."""
        return await self.send(calls.report(job_id))

    def profiles(self) -> AsyncIterator[ProfileSummary]:
        """All hardware profiles of the server."""
        return self._items(calls.profiles)

    async def profile(self, name: str) -> ProfileView:
        """A hardware profile with every number."""
        return await self.send(calls.profile(name))

    def workers(self) -> AsyncIterator[WorkerView]:
        """All workers that ever reported, including those without a recent heartbeat."""
        return self._items(calls.workers)

    async def drain(self, worker: str, *, on: bool = True) -> WorkerView:
        """Lets a worker finish its tasks and take no new ones; ``on=False`` resumes it."""
        return await self.send(calls.drain(worker, on))
