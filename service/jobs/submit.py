"""From a submission to a job row, or to the job that already does the same work.

Everything slow (reading IR, writing files) happens before the one transaction, which writes the idempotency key, the claim of
the work, the job, its variants and its first event. Either all of it is stored or nothing.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import update

from warpwright.lowering.compile.options import build_options
from warpwright.service.app_context import Context
from warpwright.service.artifacts import repository as artifact_rows
from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.models import IdempotencyKey, Job, JobSize, JobVariant, Work
from warpwright.service.errors import InvalidRequest, StateConflict, TooLarge, TooManyRequests, Unavailable
from warpwright.service.jobs import repository
from warpwright.service.jobs.schemas import JobSubmission, VariantSubmission
from warpwright.service.jobs.states import ACTIVE, JobState
from warpwright.service.kernels import repository as kernel_rows
from warpwright.service.kernels.service import ReadText, check_size, read_text
from warpwright.service.live_workers import tuning, workers_away
from warpwright.service.names import new_id
from warpwright.service.profiles import repository as profile_rows
from warpwright.service.profiles import service as profiles
from warpwright.solver.domain import HardwareProfile, NotApplicable, digest_text, dump
from warpwright.solver.profiles import builtin_profiles
from warpwright.solver.profiles.pin_domains import load_pins
from warpwright.tuning import telemetry
from warpwright.tuning.request import TuneBudget

__all__ = ["Prepared", "Submitted", "prepare", "store", "submit"]

IR_MEDIA_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked submission whose files are written."""

    name: str
    profile: HardwareProfile
    request: dict[str, Any]
    variants: Sequence[tuple[VariantSubmission, str]]
    """Variants with the digests of their texts."""
    kernels: Sequence[ReadText]
    priority: int
    work_digest: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job that does the work, and whether this request created it."""

    job_id: str
    created: bool


def submit(context: Context, submission: JobSubmission, *, owner: str, trace: str, key: str | None = None) -> Submitted:
    """Submit one job.

    Raises:
        WarpwrightError: the submission is refused: bad IR of the default variant, profile, pins, or sizes.
        Unavailable: ``workers-away``; the job would be new, and no live worker can do a part of it.
        Conflict: ``idempotency-key-reused`` with another body.
    """
    prepared = prepare(context, submission)
    away = workers_away(context.toolchain, tuning(prepared.profile))
    body_digest = _digest(submission.model_dump(mode="json"))

    def work(session: WriteSession) -> Submitted:
        if key is not None:
            found = session.get(IdempotencyKey, (owner, key))
            if found is not None:
                return _same_key(found, body_digest)
        submitted = store(session, context, prepared, owner=owner, trace=trace, refusal=away)
        if key is not None:
            row = {"owner": owner, "key": key, "body_digest": body_digest, "job_id": submitted.job_id}
            if not session.insert_missing(IdempotencyKey, [row]):
                raise _KeyRace
        return submitted

    for _ in range(20):
        try:
            submitted = context.database.write(work)
            break
        except _KeyRace:
            # Two requests used the same key at once; the other transaction is committed by now, so read again.
            continue
    else:
        raise StateConflict("the idempotency key is in use, try again", code="idempotency-key-busy")
    if submitted.created:
        context.runner.wake()
    context.bulletin.announce("jobs")
    telemetry.note(job=submitted.job_id)
    return submitted


class _KeyRace(Exception):
    """Another transaction wrote the idempotency key first."""


def prepare(context: Context, submission: JobSubmission, *, read: bool = True) -> Prepared:
    """Check a submission and write its IR texts as artifacts. ``read=False`` leaves reading the IR to the job."""
    settings = context.settings
    family = submission.family()
    if len(family) > settings.max_variants:
        message = f"{len(family)} variants, at most {settings.max_variants} are allowed"
        raise TooLarge(message, code="too-many-variants", place="/variants")
    for number, variant in enumerate(family):
        check_size(variant.ir, settings.max_ir_bytes, _place(submission, number))
        for place, size in enumerate(variant.sizes):
            check_size(size.ir, settings.max_ir_bytes, f"/variants/{number}/sizes/{place}/ir")
    profile = context.database.read(lambda session: profiles.resolve(session, submission.profile))
    pins = load_pins(submission.pins, profile, "/pins")
    options = build_options(submission.build_options, profile.family)
    budget = TuneBudget.preset(submission.effort).limited(
        candidates=submission.candidates, wall_seconds=submission.seconds
    )
    digests = [digest_text(variant.ir) for variant in family]
    identity = context.toolchain.identity(profile)
    request = {
        "pins": dump(pins),
        "engine": submission.engine,
        "seed": submission.seed,
        "budget": asdict(budget),
        "build_options": list(options),
        "measure": submission.measure,
        "fresh": submission.fresh,
    }
    work = {
        **request,
        "fresh": False,
        "profile": profile.digest,
        "variants": [[digest, dict(variant.params)] for variant, digest in zip(family, digests, strict=True)],
        "sizes": [[digest_text(size.ir) for size in variant.sizes] for variant in family],
        "identity": asdict(identity),
    }
    work_digest = _digest(work)
    # Who asks for what a job does already waits with it: nothing is read, so no worker is needed for that.
    read = read and (submission.fresh or not context.database.read(lambda session: _is_held(session, work_digest)))
    kernels = _read_default(context, submission, profile, digests) if read else []
    for variant in family:
        for ir in (variant.ir, *(size.ir for size in variant.sizes)):
            context.store.put(ir.encode())
    return Prepared(
        name=submission.name or (kernels[0].name if kernels else "") or _known_name(context, digests[0]) or "kernel",
        profile=profile,
        request=request,
        variants=list(zip(family, digests, strict=True)),
        kernels=kernels,
        priority=submission.priority,
        work_digest=work_digest,
        fresh=submission.fresh,
    )


def store(
    session: WriteSession,
    context: Context,
    prepared: Prepared,
    *,
    owner: str,
    trace: str,
    refusal: Unavailable | None = None,
) -> Submitted:
    """Write a prepared job, or find the one that does the same work. Part of the caller's transaction.

    Raises:
        Unavailable: the ``refusal``, if the job would be new. TooManyRequests: ``too-many-jobs``.
    """
    job_id = new_id("job")
    if not prepared.fresh:
        holder = repository.work_job(session, prepared.work_digest, job_id)
        if holder != job_id:
            if _usable(repository.job(session, holder)):
                repository.interest(session, holder, owner)
                return Submitted(holder, created=False)
            session.execute(update(Work).where(Work.digest == prepared.work_digest).values(job_id=job_id))
    if refusal is not None:
        raise refusal
    if repository.active_count(session, owner) >= context.settings.max_queued_jobs:
        raise TooManyRequests(
            "too many unfinished jobs of this token", code="too-many-jobs", headers={"Retry-After": "30"}
        )
    builtin = prepared.profile.name in builtin_profiles()
    profile_rows.remember(session, prepared.profile, builtin=builtin)
    sizes = [
        (number, place, size.name, digest_text(size.ir), len(size.ir.encode()))
        for number, (variant, _) in enumerate(prepared.variants)
        for place, size in enumerate(variant.sizes)
    ]
    artifact_rows.record(
        session,
        [
            *((digest, IR_MEDIA_TYPE, len(variant.ir.encode())) for variant, digest in prepared.variants),
            *((digest, IR_MEDIA_TYPE, length) for _, _, _, digest, length in sizes),
        ],
    )
    for text in prepared.kernels:
        kernel_rows.remember(session, text.name, text.ir_hash, text.digest)
    repository.level_share(session, owner)
    session.add(
        Job(
            id=job_id,
            owner=owner,
            name=prepared.name[:200],
            state=JobState.QUEUED,
            priority=prepared.priority,
            work_digest=prepared.work_digest,
            profile_digest=prepared.profile.digest,
            request=prepared.request,
            trace_id=trace,
            traceparent=telemetry.traceparent(),
        )
    )
    session.flush()
    session.add_all(
        JobVariant(job_id=job_id, number=number, params=dict(variant.params), text_digest=digest)
        for number, (variant, digest) in enumerate(prepared.variants)
    )
    session.add_all(
        JobSize(job_id=job_id, variant=number, number=place, name=name, text_digest=digest)
        for number, place, name, digest, _ in sizes
    )
    repository.interest(session, job_id, owner)
    repository.add_event(session, job_id, 0, "state", {"state": JobState.QUEUED.value})
    return Submitted(job_id, created=True)


def _usable(job: Job | None) -> bool:
    """Whether an earlier job still answers the same request: it runs, or it ended with a complete answer."""
    if job is None or job.cancel_requested_at is not None:
        return False
    return job.state in ACTIVE or (job.state == JobState.DONE and not job.partial)


def _is_held(session: ReadSession, work_digest: str) -> bool:
    """Whether a job does this work. It may end or be cancelled before the transaction: then the new job reads its IR itself."""
    held = session.get(Work, work_digest)
    return held is not None and _usable(repository.job(session, held.job_id))


def _same_key(found: IdempotencyKey, body_digest: str) -> Submitted:
    if found.body_digest != body_digest:
        raise StateConflict(
            "this idempotency key was already used with another body",
            code="idempotency-key-reused",
            place="Idempotency-Key",
        )
    return Submitted(found.job_id, created=False)


def _read_default(
    context: Context, submission: JobSubmission, profile: HardwareProfile, digests: Sequence[str]
) -> list[ReadText]:
    """Read the user's default, so that bad IR is refused at once; the job reads the other variants.

    A kernel that no schedule can express is not an error: its job answers with the compiler's own choices.
    """
    known = context.database.read(lambda session: kernel_rows.known_texts(session, digests[:1]))
    if digests[0] in known:
        return []
    try:
        return [read_text(context.toolchain, submission.family()[0].ir, profile, _place(submission, 0))]
    except NotApplicable:
        return []


def _known_name(context: Context, digest: str) -> str:
    def find(session: Any) -> str:
        known = kernel_rows.known_texts(session, [digest])
        return kernel_rows.names(session, list(known.values())).get(known.get(digest, ""), "")

    return context.database.read(find)


def _place(submission: JobSubmission, number: int) -> str:
    return "/ir" if submission.ir is not None else f"/variants/{number}/ir"


def _digest(document: dict[str, Any]) -> str:
    try:
        return digest_text(json.dumps(document, sort_keys=True, allow_nan=False))
    except ValueError as error:
        raise InvalidRequest(f"a number that JSON does not have: {error}", place="/") from error
