"""Looking results up: the exact one by its key, named relaxations only on request, or why there is none."""

from collections.abc import Mapping
from dataclasses import asdict

from warpwright.lowering.compile.options import build_options, column_of
from warpwright.service.app_context import Context
from warpwright.service.db import ReadSession
from warpwright.service.db.models import StoredResult
from warpwright.service.errors import InvalidRequest
from warpwright.service.kernels.service import check_size, identify
from warpwright.service.profiles import service as profiles
from warpwright.service.results import repository
from warpwright.service.results.schemas import LookupAnswer, LookupRequest, NearEntry, ResultView
from warpwright.service.results.store import family_hash
from warpwright.service.results.todays_rules import refusal_of_stored
from warpwright.solver.domain import Fingerprint, HardwareProfile, Pins, digest_text, dumps
from warpwright.solver.profiles.pin_domains import load_pins

__all__ = ["EMPTY_PINS", "find", "lookup", "present_columns", "view", "wanted"]

EMPTY_PINS = digest_text(dumps(Pins()))
NEAREST = 5


def wanted(context: Context, request: LookupRequest) -> Fingerprint:
    """The fingerprint that a request asks for.

    Raises:
        WarpwrightError: the IR, profile or pins are refused.
    """
    given = [request.ir is not None, request.ir_hash is not None, request.variants is not None]
    if sum(given) != 1:
        raise InvalidRequest("give exactly one of 'ir', 'ir_hash' and 'variants'", place="/ir")
    profile = context.database.read(lambda session: profiles.resolve(session, request.profile))
    identity = context.toolchain.identity(profile)
    options = build_options(request.build_options, profile.family)
    pins = EMPTY_PINS if request.pins is None else digest_text(dumps(load_pins(request.pins, profile, "/pins")))
    return Fingerprint(
        ir=request.ir_hash or _hash_of(context, request, profile),
        profile=profile.digest,
        toolchain=request.toolchain or identity.toolchain,
        constraint_set=identity.constraint_set,
        protocol=request.protocol or identity.protocol,
        verification=identity.verification,
        pins=pins,
        build_options=column_of(options),
    )


def lookup(context: Context, request: LookupRequest) -> tuple[LookupAnswer, StoredResult | None]:
    """The answer without its result, and the row that holds the result."""
    fingerprint = wanted(context, request)
    answer, row = context.database.read(lambda session: find(session, fingerprint, request))
    if row is None or "constraint_set" not in answer.relaxed:
        return answer, row
    refusal = refusal_of_stored(context, request, row)
    if not refusal:
        return answer, row
    reason = f"a result under {row.constraint_set} is held back: {refusal}"
    return LookupAnswer(found=False, relaxed=[], reason=reason, fingerprint=answer.fingerprint), None


def find(
    session: ReadSession, fingerprint: Fingerprint, request: LookupRequest
) -> tuple[LookupAnswer, StoredResult | None]:
    """As :func:`lookup`, for a fingerprint."""
    row = repository.by_key(session, fingerprint.key())
    if row is None or (request.measured_only and not row.measured):
        unmeasured = row
        row = repository.relaxed(session, fingerprint, request.relax) if request.relax else None
        if row is not None and request.measured_only and not row.measured:
            row = None
        if row is None:
            return _missing(session, fingerprint, unmeasured), None
    differs = fingerprint.differences(repository.fingerprint_of(row))
    return LookupAnswer(found=True, relaxed=list(differs), fingerprint=asdict(fingerprint)), row


def present_columns(context: Context, profile: HardwareProfile) -> dict[str, str]:
    """The values of the changeable columns if the kernel were tuned now."""
    return asdict(context.toolchain.identity(profile))


def view(row: StoredResult, present: Mapping[str, str]) -> ResultView:
    """A stored result with its stale columns."""
    fingerprint = repository.fingerprint_of(row)
    return ResultView(
        key=row.key,
        name=row.name,
        fingerprint=asdict(fingerprint),
        job=row.job_id,
        candidate=row.candidate,
        measured=row.measured,
        time_ns=row.time_ns,
        created_at=row.created_at,
        updated_at=row.updated_at,
        stale={name: (getattr(row, name), value) for name, value in present.items() if getattr(row, name) != value},
    )


def _hash_of(context: Context, request: LookupRequest, profile: HardwareProfile) -> str:
    texts = [request.ir] if request.ir is not None else request.variants or []
    hashes: list[str] = []
    for number, ir in enumerate(texts):
        place = "/ir" if request.ir is not None else f"/variants/{number}"
        check_size(ir, context.settings.max_ir_bytes, place)
        hashes.append(identify(context.database, context.toolchain, ir, profile, place))
    return family_hash(hashes)


def _missing(session: ReadSession, wanted_one: Fingerprint, unmeasured: StoredResult | None) -> LookupAnswer:
    near = [
        NearEntry(
            key=row.key,
            job=row.job_id,
            differs=dict(wanted_one.differences(found)),
            measured=row.measured,
            time_ns=row.time_ns,
            updated_at=row.updated_at,
        )
        for found, row in repository.nearest(session, wanted_one, NEAREST)
    ]
    if unmeasured is not None:
        reason = "the result was never measured"
    elif near:
        reason = f"results of this kernel differ in {', '.join(near[0].differs)}"
    else:
        reason = "there is no result of this kernel"
    return LookupAnswer(found=False, relaxed=[], reason=reason, fingerprint=asdict(wanted_one), nearest=near)
