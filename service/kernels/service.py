"""Reading submitted IR: which kernel it is, and whether it is accepted."""

from dataclasses import dataclass

import structlog

from warpwright.service.db import DATABASE_AWAY, Database, DatabaseBusy
from warpwright.service.errors import InvalidRequest, TooLarge, Unavailable
from warpwright.service.kernels import repository
from warpwright.service.live_workers import READING, require_workers
from warpwright.solver.domain import HardwareProfile, WarpwrightError, digest_text
from warpwright.tuning.toolchain import Patience, StepFailed, Toolchain

__all__ = ["ReadText", "check_size", "identify", "read_text"]

log = structlog.get_logger(__name__)

READ_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ReadText:
    """One IR text: its digest and its kernel."""

    digest: str
    ir_hash: str
    name: str


def check_size(ir: str, limit: int, place: str) -> None:
    """Raise ``TooLarge`` when an IR text is above the limit; characters are a lower bound of its bytes."""
    if len(ir) > limit or len(ir.encode()) > limit:
        raise TooLarge(f"the IR has more than {limit} bytes", code="ir-too-large", place=place)


def read_text(toolchain: Toolchain, ir: str, profile: HardwareProfile, place: str) -> ReadText:
    """Read an IR in a child.

    Raises:
        WarpwrightError: the IR is refused, with the place inside the request.
        Unavailable: ``reader-failed``, the reader itself failed, or ``workers-away``; try again.
    """
    require_workers(toolchain, READING)
    patience = Patience.alone(READ_SECONDS)
    try:
        kernel = toolchain.read(ir, profile, patience)
    except StepFailed as error:
        raise _reader_failed(error, place) from error
    except WarpwrightError as error:
        error.place = f"{place}#{error.place}" if error.place else place
        raise
    return ReadText(digest_text(ir), kernel.ir_hash, kernel.graph.name)


def identify(database: Database, toolchain: Toolchain, ir: str, profile: HardwareProfile, place: str) -> str:
    """The structural hash of an IR; a known text is not read again."""
    digest = digest_text(ir)
    known = database.read(lambda session: repository.known_texts(session, [digest]))
    if digest in known:
        return known[digest]
    text = read_text(toolchain, ir, profile, place)
    # A lookup is answered even if nothing can be written now.
    try:
        database.write(lambda session: repository.remember(session, text.name, text.ir_hash, text.digest))
    except (*DATABASE_AWAY, DatabaseBusy) as error:
        log.warning("text-not-remembered", error=str(error)[:200])
    return text.ir_hash


def _reader_failed(error: StepFailed, place: str) -> WarpwrightError:
    """An IR that breaks its reader is the sender's error; a reader that could not start is the service's."""
    if error.outcome.remembered:
        return InvalidRequest(f"the IR crashed its reader: {error.failure.message}", code="ir-unreadable", place=place)
    return Unavailable(f"the IR could not be read now: {error.failure.message}", code="reader-failed")
