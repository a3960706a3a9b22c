"""Which endings are a candidate's own fault, and which must never be remembered against it."""

import signal

import pytest

from warpwright.lowering.outcome import FAULTS, Fault, OutcomeKind, of_reply
from warpwright.tuning.children import (
    Cancelled,
    Crashed,
    OutOfMemory,
    OutputExceeded,
    ProtocolBroken,
    Raised,
    Refused,
    Reply,
    Returned,
    TimedOut,
)


def test_every_kind_has_a_fault() -> None:
    assert set(FAULTS) == set(OutcomeKind)


@pytest.mark.parametrize(
    ("reply", "kind", "fault"),
    [
        (TimedOut("wall", 2.0), OutcomeKind.TIMED_OUT, Fault.CANDIDATE),
        (TimedOut("launch", 2.0), OutcomeKind.TIMED_OUT, Fault.CANDIDATE),
        (TimedOut("start", 2.0), OutcomeKind.INFRASTRUCTURE, Fault.INFRASTRUCTURE),
        (Crashed(None, signal.SIGSEGV), OutcomeKind.CRASHED, Fault.CANDIDATE),
        (Crashed(None, signal.SIGKILL), OutcomeKind.INFRASTRUCTURE, Fault.INFRASTRUCTURE),
        (OutOfMemory(9 << 30, 8 << 30), OutcomeKind.OVER_RESOURCE, Fault.CANDIDATE),
        (OutOfMemory(1 << 30, 8 << 30), OutcomeKind.INFRASTRUCTURE, Fault.INFRASTRUCTURE),
        (OutputExceeded(10), OutcomeKind.OVER_RESOURCE, Fault.CANDIDATE),
        (ProtocolBroken("x"), OutcomeKind.INFRASTRUCTURE, Fault.INFRASTRUCTURE),
        (Raised("InternalError", "Check failed"), OutcomeKind.COMPILE_FAILED, Fault.CANDIDATE),
        (Refused("not-applicable", "2-D threads"), OutcomeKind.NOT_APPLICABLE, Fault.NONE),
        (Refused("toolchain-missing", "no nvcc"), OutcomeKind.NOT_APPLICABLE, Fault.NONE),
        (Refused("device-lost", "error 719"), OutcomeKind.DEVICE_LOST, Fault.INFRASTRUCTURE),
        (Cancelled(), OutcomeKind.CANCELLED, Fault.NONE),
    ],
)
def test_a_reply_that_is_no_result_becomes_a_typed_outcome(reply: Reply, kind: OutcomeKind, fault: Fault) -> None:
    outcome = of_reply(reply, "compile")
    assert outcome is not None
    assert (outcome.kind, outcome.fault) == (kind, fault)
    assert outcome.remembered == (fault is Fault.CANDIDATE)
    assert outcome.retried == (fault is Fault.INFRASTRUCTURE)


def test_an_error_of_ours_while_measuring_is_not_the_candidates() -> None:
    """It was called a failed compilation, and remembered."""
    outcome = of_reply(Raised("ValueError", "Out of range float values are not JSON compliant: nan"), "measure")
    assert outcome is not None
    assert (outcome.kind, outcome.details) == (OutcomeKind.INFRASTRUCTURE, ("measure_raised",))


def test_a_result_is_no_failure() -> None:
    assert of_reply(Returned({}), "compile") is None
