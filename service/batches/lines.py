"""The lines of a batch, read in pieces: the limits on bytes and lines hold while reading, so a bomb is never unpacked."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from warpwright.service.errors import BadRequest, InvalidRequest, TooLarge
from warpwright.service.settings import Settings

__all__ = ["BatchLines", "read_lines"]

PIECE_BYTES = 256 << 10
BLANK = 10
"""Lines, empty ones included, for each line that a batch may have: reading empty ones takes time as well."""


@dataclass(frozen=True, slots=True)
class BatchLines:
    """The non-empty lines of a batch with their numbers, from 1; ``digest`` is of the whole text."""

    lines: tuple[tuple[int, bytes], ...]
    digest: str


def read_lines(body: bytes, encoding: str, settings: Settings) -> BatchLines:
    """The lines of a body, from all members of a gzip file.

    Raises:
        BadRequest: ``encoding-unknown`` or ``gzip-damaged``. TooLarge: ``batch-too-large`` or ``too-many-lines``, as soon as the
            limit is passed. InvalidRequest: ``batch-empty``.
    """
    kept: list[tuple[int, bytes]] = []
    digest, number = hashlib.sha256(), 0
    begun: list[bytes] = []
    for piece in _pieces(body, encoding, settings.max_batch_bytes):
        digest.update(piece)
        end, *more = piece.split(b"\n")
        begun.append(end)
        for following in more:
            number += 1
            _keep(kept, number, b"".join(begun), settings.max_batch_lines)
            begun = [following]
    _keep(kept, number + 1, b"".join(begun), settings.max_batch_lines)
    if not kept:
        raise InvalidRequest("the batch has no lines", code="batch-empty")
    return BatchLines(tuple(kept), "sha256:" + digest.hexdigest())


def _keep(kept: list[tuple[int, bytes]], number: int, line: bytes, limit: int) -> None:
    blank = not line.strip()
    if number > BLANK * limit or (not blank and len(kept) == limit):
        raise TooLarge(f"at most {limit} lines are allowed; send several batches", code="too-many-lines")
    if blank:
        return
    kept.append((number, line))


def _pieces(body: bytes, encoding: str, limit: int) -> Iterator[bytes]:
    if encoding not in ("", "identity", "gzip"):
        raise BadRequest(
            f"Content-Encoding {encoding[:40]!r} is not supported; send gzip or none", code="encoding-unknown"
        )
    source: io.BufferedIOBase = io.BytesIO(body)
    if encoding == "gzip":
        source = gzip.GzipFile(fileobj=source)
    read = 0
    try:
        while piece := source.read(PIECE_BYTES):
            read += len(piece)
            if read > limit:
                raise TooLarge(f"the batch has more than {limit} bytes", code="batch-too-large")
            yield piece
    except (zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise BadRequest(f"the gzip body is damaged: {error}", code="gzip-damaged") from error
