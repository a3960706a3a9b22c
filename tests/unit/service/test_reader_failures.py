"""Each way in which an IR can end its reader has a stable code: the sender's fault is told from ours."""

import pytest

from warpwright.service.errors import status_of
from warpwright.service.kernels.service import _reader_failed
from warpwright.tuning.children import Crashed, OutOfMemory, OutputExceeded, ProtocolBroken, Raised, Reply, TimedOut
from warpwright.tuning.errors import failed


@pytest.mark.parametrize(
    ("reply", "code", "status"),
    [
        *((Crashed(None, signal), "ir-unreadable", 422) for signal in (4, 6, 7, 8, 11)),
        (Crashed(1, None), "ir-unreadable", 422),
        (TimedOut("wall", 60.0), "ir-unreadable", 422),
        (TimedOut("cpu", 60.0), "ir-unreadable", 422),
        (OutputExceeded(1), "ir-unreadable", 422),
        (Raised("InternalError", "inside TVM"), "ir-unreadable", 422),
        (OutOfMemory(2, 1), "ir-unreadable", 422),
        # Below its own limit the memory was short because of others, and a broken pipe is ours: try again.
        (OutOfMemory(1, 2), "reader-failed", 503),
        (ProtocolBroken("half a frame"), "reader-failed", 503),
    ],
)
def test_the_sender_hears_whose_fault_it_was(reply: Reply, code: str, status: int) -> None:
    error = _reader_failed(failed(reply, "frontend"), "/variants/3/ir")
    assert (error.code, status_of(error)) == (code, status)
