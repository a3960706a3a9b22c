"""Every request of the API as a value: method, path, parameters, body, and how its answer becomes a typed resource.

Both clients send these, so that a resource is described once.
"""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter

from warpwright.errors import ServerError
from warpwright.service.batches.schemas import BatchSummary, BatchView, ItemView
from warpwright.service.candidates.schemas import CandidateView
from warpwright.service.jobs.schemas import EventView, JobSubmission, JobSummary, JobView
from warpwright.service.pages import Page
from warpwright.service.profiles.schemas import ProfileSummary, ProfileUpload, ProfileView
from warpwright.service.results.schemas import LookupAnswer, LookupRequest, RefreshAnswer, RefreshRequest, ResultView
from warpwright.service.solve.schemas import SolveAnswer, SolveRequest
from warpwright.service.tokens.schemas import NewToken, TokenRequest, TokenRotation, TokenView
from warpwright.service.workers.schemas import WorkerView
from warpwright.solver.domain import digest_bytes

__all__ = ["Call", "HttpAnswer"]

T = TypeVar("T")
Parameter = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The parts of an HTTP answer that parsing needs."""

    status: int
    body: bytes
    json: Any = None


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request. ``repeatable`` calls are sent again after a lost connection: reads, and writes with a key."""

    method: str
    path: str
    parse: Callable[[HttpAnswer], T]
    params: Mapping[str, Parameter] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    wait_seconds: float = 0.0
    """How long the server may hold the answer back (long polling), in addition to the client's own time limit."""


@cache
def model(kind: type[T]) -> Callable[[HttpAnswer], T]:
    """Parses the body as one resource."""
    adapter = TypeAdapter(kind)
    return lambda answer: adapter.validate_python(answer.json)


@cache
def page(kind: type[T]) -> Callable[[HttpAnswer], Page[T]]:
    """Parses the body as one page of resources."""
    adapter: TypeAdapter[Page[T]] = TypeAdapter(Page[kind])  # type: ignore[valid-type]  # a parameter only at run time
    return lambda answer: adapter.validate_python(answer.json)


def submit_job(submission: JobSubmission, key: str | None) -> Call[JobView]:
    """Asks for a tuning; with an idempotency key the request can be repeated safely."""
    body = submission.model_dump(mode="json", exclude_unset=True)
    headers = {"Idempotency-Key": key} if key else {}
    return Call("POST", "/v1/jobs", model(JobView), json=body, headers=headers, repeatable=key is not None)


def job(job_id: str, wait: float | None) -> Call[JobView]:
    """A job, once it has ended or ``wait`` seconds have passed."""
    return Call(
        "GET", f"/v1/jobs/{quote(job_id, safe='')}", model(JobView), params={"wait": wait}, wait_seconds=wait or 0.0
    )


def jobs(params: Mapping[str, Parameter]) -> Call[Page[JobSummary]]:
    """A page of jobs, newest first."""
    return Call("GET", "/v1/jobs", page(JobSummary), params=params)


def cancel_job(job_id: str) -> Call[JobView]:
    """Asks a job to stop; what it found so far stays."""
    return Call("POST", f"/v1/jobs/{quote(job_id, safe='')}:cancel", model(JobView))


def delete_job(job_id: str) -> Call[None]:
    """Removes an ended job with its candidates and events."""
    return Call("DELETE", f"/v1/jobs/{quote(job_id, safe='')}", lambda answer: None)


def job_events(job_id: str, headers: Mapping[str, str]) -> Call[None]:
    """A stream of a job's events; the clients read it line by line."""
    return Call("GET", f"/v1/jobs/{quote(job_id, safe='')}/events", lambda answer: None, headers=headers)


def tell(job_id: str, results: Mapping[str, Any]) -> Call[JobView]:
    """Results of a bundle, for the job that it was made from; sending them twice changes nothing."""
    return Call("POST", f"/v1/jobs/{quote(job_id, safe='')}:tell", model(JobView), json=dict(results))


def log(job_id: str, cursor: str | None) -> Call[Page[EventView]]:
    """A page of a job's events, oldest first."""
    return Call(
        "GET", f"/v1/jobs/{quote(job_id, safe='')}/log", page(EventView), params={"cursor": cursor, "limit": 200}
    )


def lookup(request: LookupRequest) -> Call[LookupAnswer]:
    """The stored result, or why there is none."""
    body = request.model_dump(mode="json", exclude_unset=True)
    return Call("POST", "/v1/results:lookup", model(LookupAnswer), json=body)


def results(params: Mapping[str, Parameter]) -> Call[Page[ResultView]]:
    """A page of stored results."""
    return Call("GET", "/v1/results", page(ResultView), params=params)


def submit_batch(text: bytes, name: str) -> Call[BatchView]:
    """Many submissions as JSON lines; the same bytes are the same batch, so the request can be repeated safely."""
    headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
    packed = gzip.compress(text, mtime=0)
    return Call("POST", "/v1/batches", model(BatchView), params={"name": name}, content=packed, headers=headers)


def batch(batch_id: str) -> Call[BatchView]:
    """One status for all lines of a batch."""
    return Call("GET", f"/v1/batches/{quote(batch_id, safe='')}", model(BatchView))


def batches(cursor: str | None) -> Call[Page[BatchSummary]]:
    """A page of batches, newest first."""
    return Call("GET", "/v1/batches", page(BatchSummary), params={"cursor": cursor})


def candidate(job_id: str, candidate_id: str) -> Call[CandidateView]:
    """One candidate of a job."""
    path = f"/v1/jobs/{quote(job_id, safe='')}/candidates/{quote(candidate_id, safe='')}"
    return Call("GET", path, model(CandidateView))


def create_token(request: TokenRequest) -> Call[NewToken]:
    """Creates a token; never sent twice, because its secret is shown only once."""
    body = request.model_dump(mode="json")
    return Call("POST", "/v1/tokens", model(NewToken), json=body, repeatable=False)


def tokens(cursor: str | None) -> Call[Page[TokenView]]:
    """A page of tokens, without their secrets."""
    return Call("GET", "/v1/tokens", page(TokenView), params={"cursor": cursor})


def rotate_token(token_id: str, overlap_seconds: float) -> Call[NewToken]:
    """Replaces a token by one with another secret."""
    body = TokenRotation(overlap_seconds=overlap_seconds).model_dump(mode="json")
    return Call("POST", f"/v1/tokens/{quote(token_id, safe='')}:rotate", model(NewToken), json=body, repeatable=False)


def revoke_token(token_id: str) -> Call[None]:
    """Revokes a token."""
    return Call("DELETE", f"/v1/tokens/{quote(token_id, safe='')}", lambda answer: None)


def batch_items(batch_id: str, cursor: str | None) -> Call[Page[ItemView]]:
    """A page of a batch's lines."""
    return Call("GET", f"/v1/batches/{quote(batch_id, safe='')}/items", page(ItemView), params={"cursor": cursor})


def batch_results(batch_id: str, shape: str) -> Call[bytes]:
    """The answers so far, as JSON lines or CSV."""
    path = f"/v1/batches/{quote(batch_id, safe='')}/results"
    return Call("GET", path, lambda answer: answer.body, params={"format": shape})


def cancel_batch(batch_id: str) -> Call[BatchView]:
    """Stops a batch; what it found so far stays."""
    return Call("POST", f"/v1/batches/{quote(batch_id, safe='')}:cancel", model(BatchView))


def refresh(request: RefreshRequest) -> Call[RefreshAnswer]:
    """Tunes stale results again."""
    body = request.model_dump(mode="json", exclude_unset=True)
    return Call("POST", "/v1/results:refresh", model(RefreshAnswer), json=body)


def upload_profile(upload: ProfileUpload) -> Call[ProfileView]:
    """Stores a profile; the same numbers are the same profile, however often they are sent."""
    return Call("POST", "/v1/profiles", model(ProfileView), json=upload.model_dump(mode="json", exclude_unset=True))


def solve(request: SolveRequest) -> Call[SolveAnswer]:
    """A schedule with its proof; nothing is built. The server may take as long as the request allows."""
    body = request.model_dump(mode="json", exclude_unset=True)
    return Call("POST", "/v1/solve", model(SolveAnswer), json=body, wait_seconds=request.seconds * 2 + 90.0)


def candidates(job_id: str, cursor: str | None) -> Call[Page[CandidateView]]:
    """A page of a job's candidates."""
    return Call("GET", f"/v1/jobs/{quote(job_id, safe='')}/candidates", page(CandidateView), params={"cursor": cursor})


def artifact(digest: str) -> Call[bytes]:
    """The bytes with this digest."""

    def checked(answer: HttpAnswer) -> bytes:
        if digest_bytes(answer.body) != digest:
            raise ServerError(f"the bytes of {digest} are damaged", status=answer.status, code="artifact-damaged")
        return answer.body

    return Call("GET", f"/v1/artifacts/{quote(digest, safe=':')}", checked)


def report(job_id: str) -> Call[str]:
    """A job's page as one self-contained HTML file; its drawing may have to read the kernel in a child first."""
    path = f"/jobs/{quote(job_id, safe='')}/report"
    return Call("GET", path, lambda answer: answer.body.decode(), wait_seconds=60.0)


def profiles(cursor: str | None) -> Call[Page[ProfileSummary]]:
    """A page of profiles."""
    return Call("GET", "/v1/profiles", page(ProfileSummary), params={"cursor": cursor})


def profile(name: str) -> Call[ProfileView]:
    """A profile with every number."""
    return Call("GET", f"/v1/profiles/{quote(name, safe=':')}", model(ProfileView))


def workers(cursor: str | None) -> Call[Page[WorkerView]]:
    """A page of workers."""
    return Call("GET", "/v1/workers", page(WorkerView), params={"cursor": cursor})


def drain(worker: str, on: bool) -> Call[WorkerView]:
    """Lets a worker finish its tasks and take no new ones, or resumes it."""
    return Call("POST", f"/v1/workers/{quote(worker, safe='@:')}:drain", model(WorkerView), params={"on": on})
