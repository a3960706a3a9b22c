"""Tuning on a server: submit, wait, and turn the job's resources into the same :class:`Result` that local tuning gives."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import fields

from pydantic import ValidationError

from warpwright.client import Client
from warpwright.errors import ServerError
from warpwright.kernel_file import KernelFile, KernelVariant
from warpwright.result import Result
from warpwright.service.candidates.schemas import CandidateView
from warpwright.service.jobs.schemas import EventView, JobSubmission, JobView, SizeSubmission, VariantSubmission
from warpwright.service.pages import encode_cursor
from warpwright.solver.domain import Candidate, HardwareProfile, Outcome, Pins, WarpwrightError, documents
from warpwright.tuning.toolchain import Stop

__all__ = ["result_of_job", "submission_of", "tune_there"]

POLL_SECONDS = 2.0
FOREGROUND = 10
"""Priority of a tuning that somebody waits for at a terminal."""
ENDED = frozenset({"done", "failed", "cancelled"})


def submission_of(
    kernel: KernelFile,
    profile: HardwareProfile,
    *,
    effort: str = "normal",
    candidates: int | None = None,
    seconds: float | None = None,
    engine: str = "cpsat",
    pins: Pins | None = None,
    build_options: Sequence[str] = (),
    measure: bool = True,
    fresh: bool = False,
) -> JobSubmission:
    """The request body for a kernel family; the profile travels as its document, so the server need not know it.

    Raises:
        WarpwrightError: ``request-invalid``; the place names the value that is out of bounds.
    """
    body: dict[str, object] = {
        "variants": [_variant(entry) for entry in kernel.variants],
        "name": kernel.name[:200],
        "profile": documents.dump(profile),
        "engine": engine,
        "effort": effort,
        "measure": measure,
        "priority": FOREGROUND,
        "fresh": fresh,
    }
    if pins is not None and pins != Pins():
        body["pins"] = documents.dump(pins)
    if build_options:
        body["build_options"] = list(build_options)
    if candidates is not None:
        body["candidates"] = candidates
    if seconds is not None:
        body["seconds"] = seconds
    try:
        return JobSubmission.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "/".join(map(str, ("", *first["loc"])))
        raise WarpwrightError(f"{place}: {first['msg']}", code="request-invalid", place=place) from error


def _variant(variant: KernelVariant) -> VariantSubmission:
    plain = VariantSubmission(ir=variant.ir, params=dict(variant.params))
    if variant.sizes:  # left out of the request if there are none: an older server does not know the field
        plain.sizes = [SizeSubmission(name=size.name[:200], ir=size.ir) for size in variant.sizes]
    return plain


def tune_there(
    client: Client,
    submission: JobSubmission,
    *,
    stop: Stop | None = None,
    events: Callable[[EventView], None] | None = None,
    poll_seconds: float = POLL_SECONDS,
    all_products: bool = False,
) -> Result:
    """Submits a tuning and waits for it. When ``stop`` is set, the job is cancelled and what it found so far is returned.
    ``all_products`` fetches the artifacts of every candidate, not only of the winner.

    Raises:
        ServerError: the server refused the request, or the job failed as a whole.
        ServerUnreachable: no answer, even after the client's retries.
    """
    job = client.submit(submission, key=uuid.uuid4().hex)
    told = 0
    cancelled = False
    while True:
        if events is not None:
            told = _tell(client, job.id, told, events)
        if job.state.value in ENDED:
            return result_of_job(client, job, products_of=(lambda view: True) if all_products else None)
        if stop is not None and stop.is_raised() and not cancelled:
            client.cancel(job.id)
            cancelled = True
        job = client.job(job.id, wait=poll_seconds)


def _tell(client: Client, job_id: str, told: int, events: Callable[[EventView], None]) -> int:
    """Passes on the events after number ``told``; returns the number of the last one."""
    cursor = encode_cursor(told) if told else None
    while True:
        page = client.log(job_id, cursor=cursor)
        for event in page.items:
            events(event)
            told = event.number
        if (cursor := page.next) is None:
            return told


def result_of_job(
    client: Client, job: JobView, *, products_of: Callable[[CandidateView], bool] | None = None
) -> Result:
    """A job and its candidates as a result. Products are fetched for the winner, or for those that ``products_of`` picks.

    Raises:
        ServerError: the job failed as a whole; the code is the failure's own.
    """
    if job.error is not None and job.ending is None:
        raise ServerError(job.error.message, code=job.error.code, place=job.error.place)
    wanted = products_of or (lambda view: view.id == job.best)
    candidates = [
        _candidate(view, _products(client, view) if wanted(view) else {}) for view in client.candidates(job.id)
    ]
    candidates.sort(key=lambda candidate: (candidate.id != job.best, _usable_first(candidate)))
    return Result(
        kernel=next((variant.kernel for variant in job.variants if variant.kernel), job.name),
        profile=job.profile,
        ending=job.ending or "unknown",
        best=next((entry for entry in candidates if entry.id == job.best), None),
        candidates=tuple(candidates),
        rejected=tuple(job.rejected),
        refused_variants={v.number: v.failure for v in job.variants if v.failure is not None},
        note=job.note,
        partial=job.partial,
        stopped_by=job.stopped_by,
        job=job.id,
        tied=tuple(job.tied),
        margin=job.margin,
        build_options=tuple(job.build_options),
        answer=job.answer.text if job.answer else "",
        answer_parts=tuple(part.model_dump() for part in job.answer.parts) if job.answer else (),
    )


def _products(client: Client, view: CandidateView) -> dict[str, bytes]:
    return {name: client.artifact(digest) for name, digest in view.artifacts.items()}


def _candidate(view: CandidateView, products: dict[str, bytes]) -> Candidate:
    """The candidate out of its envelope, with the bytes that were fetched."""
    values = {field.name: getattr(view, field.name) for field in fields(Candidate)}
    return Candidate(**{**values, "products": products})


def _usable_first(candidate: Candidate) -> tuple[int, float]:
    """Sort key of the table: measured ones by time, built ones by forecast, then the rest; equal ones by number."""
    order = (Outcome.MEASURED, Outcome.COMPILED, Outcome.SOLVED)
    place = order.index(candidate.outcome) if candidate.outcome in order else len(order)
    cost = candidate.measured_ns if candidate.measured_ns is not None else candidate.forecast
    return place, cost if cost is not None else float("inf")
