"""Which endings are a candidate's own fault, and which must never be remembered against it."""

import signal

import pytest

from warpwright.solver.domain import FAULTS, Fault, Outcome
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
from warpwright.tuning.children.step_outcome import of_reply

STORED = (
    "measured compiled solved refused not_honoured wrong_result reference_failed compile_failed over_resource launch_failed "
    "timed_out crashed device_lost not_applicable contended infrastructure skipped cancelled"
)
"""What databases, bundles and compiled-kernel documents hold. A new outcome comes at the end; none of these ever goes."""


def test_every_outcome_has_a_fault() -> None:
    assert set(FAULTS) == set(Outcome)


def test_outcomes_are_append_only_since_their_names_are_stored() -> None:
    stored = STORED.split()
    assert [outcome.value for outcome in Outcome][: len(stored)] == stored


@pytest.mark.parametrize(
    ("reply", "kind", "fault"),
    [
        (TimedOut("wall", 2.0), Outcome.TIMED_OUT, Fault.CANDIDATE),
        (TimedOut("launch", 2.0), Outcome.TIMED_OUT, Fault.CANDIDATE),
        (TimedOut("start", 2.0), Outcome.INFRASTRUCTURE, Fault.INFRASTRUCTURE),
        (Crashed(None, signal.SIGSEGV), Outcome.CRASHED, Fault.CANDIDATE),
        (Crashed(None, signal.SIGKILL), Outcome.INFRASTRUCTURE, Fault.INFRASTRUCTURE),
        (OutOfMemory(9 << 30, 8 << 30), Outcome.OVER_RESOURCE, Fault.CANDIDATE),
        (OutOfMemory(1 << 30, 8 << 30), Outcome.INFRASTRUCTURE, Fault.INFRASTRUCTURE),
        (OutputExceeded(10), Outcome.OVER_RESOURCE, Fault.CANDIDATE),
        (ProtocolBroken("x"), Outcome.INFRASTRUCTURE, Fault.INFRASTRUCTURE),
        (Raised("InternalError", "Check failed"), Outcome.COMPILE_FAILED, Fault.CANDIDATE),
        (Refused("not-applicable", "2-D threads"), Outcome.NOT_APPLICABLE, Fault.NONE),
        (Refused("toolchain-missing", "no nvcc"), Outcome.NOT_APPLICABLE, Fault.NONE),
        (Refused("device-lost", "error 719"), Outcome.DEVICE_LOST, Fault.INFRASTRUCTURE),
        (Cancelled(), Outcome.CANCELLED, Fault.NONE),
    ],
)
def test_a_reply_that_is_no_result_becomes_a_typed_outcome(reply: Reply, kind: Outcome, fault: Fault) -> None:
    outcome = of_reply(reply, "compile")
    assert outcome is not None
    assert (outcome.kind, outcome.kind.fault) == (kind, fault)
    assert outcome.kind.remembered == (fault is Fault.CANDIDATE)
    assert outcome.kind.retried == (fault is Fault.INFRASTRUCTURE)


def test_an_error_of_ours_while_measuring_is_not_the_candidates() -> None:
    """It was called a failed compilation, and remembered."""
    outcome = of_reply(Raised("ValueError", "Out of range float values are not JSON compliant: nan"), "measure")
    assert outcome is not None
    assert (outcome.kind, outcome.details) == (Outcome.INFRASTRUCTURE, ("measure_raised",))


def test_a_result_is_no_failure() -> None:
    assert of_reply(Returned({}), "compile") is None
