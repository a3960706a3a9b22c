"""Frames on the pipes between parent and child: four bytes of length, then one JSON object. Never pickle.

The pipes are descriptors of their own, so whatever a native library prints on stdout cannot damage a frame.
"""

import json
import os
import struct
from typing import Any

__all__ = ["FrameError", "FrameReader", "read_frame", "write_frame"]

HEADER = struct.Struct(">I")


class FrameError(Exception):
    """The bytes are not a frame: too long, truncated, not JSON, or not an object."""


def encode(message: dict[str, Any]) -> bytes:
    """One frame. ``ValueError`` for NaN or infinity, which JSON does not have."""
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return HEADER.pack(len(body)) + body


def decode(body: bytes) -> dict[str, Any]:
    """The object in a frame's body; FrameError otherwise."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame that is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise FrameError("a frame that is not a JSON object")
    return message


def write_frame(fd: int, message: dict[str, Any]) -> None:
    """Writes one frame completely, blocking."""
    view = memoryview(encode(message))
    while view:
        view = view[os.write(fd, view) :]


def read_frame(fd: int) -> dict[str, Any] | None:
    """Reads one frame, blocking; None at a clean end of file."""
    head = _read_exactly(fd, HEADER.size)
    if not head:
        return None
    if len(head) < HEADER.size:
        raise FrameError("a frame truncated in its header")
    (length,) = HEADER.unpack(head)
    body = _read_exactly(fd, length)
    if len(body) < length:
        raise FrameError("a frame truncated in its body")
    return decode(body)


def _read_exactly(fd: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class FrameReader:
    """Frames out of a stream of chunks, for the parent's event loop."""

    def __init__(self, limit_bytes: int) -> None:
        self._buffer = bytearray()
        self.limit_bytes = limit_bytes

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The frames completed by this chunk.

        Raises:
            FrameError: the stream does not consist of frames.
            OverflowError: a frame is longer than the limit.
        """
        self._buffer += chunk
        frames = []
        while len(self._buffer) >= HEADER.size:
            (length,) = HEADER.unpack(self._buffer[: HEADER.size])
            if length > self.limit_bytes:
                raise OverflowError(length)
            if len(self._buffer) < HEADER.size + length:
                break
            body = bytes(self._buffer[HEADER.size : HEADER.size + length])
            del self._buffer[: HEADER.size + length]
            frames.append(decode(body))
        return frames
