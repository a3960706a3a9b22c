"""Exit codes of the command line: stable, part of the public interface, listed in docs/cli.md (a test compares the two)."""

from enum import IntEnum

from warpwright.errors import LockError, ServerError, ServerUnreachable
from warpwright.solver.domain.errors import ExtraMissing, NotApplicable, SolverFault, WarpwrightError
from warpwright.tuning.outage import Outage

__all__ = ["ExitCode", "exit_code_of"]


class ExitCode(IntEnum):
    """Why a command ended. Never renumbered; a script may rely on any of them."""

    OK = 0
    FAULT = 1
    """An unexpected error: a bug in Warpwright, or a failure of the machine."""
    USAGE = 2
    """The command line itself was wrong: unknown option, missing argument."""
    INFEASIBLE = 3
    """Proven: no legal schedule exists under these pins on this device."""
    NOT_APPLICABLE = 4
    """The kernel is legal, but no kind of schedule that Warpwright knows can express it; it keeps the compiler's default."""
    BAD_INPUT = 5
    """A kernel file, IR, profile, schedule or other document that was given is wrong."""
    UNKNOWN = 6
    """The budget ended before a schedule was found or excluded. Says nothing about feasibility."""
    UNREACHABLE = 7
    """The server did not answer."""
    REFUSED = 8
    """The server answered with an error."""
    ILLEGAL = 9
    """The verifier found the schedule illegal; the violations were printed."""
    NOTHING_USABLE = 10
    """Schedules exist, but none of the candidates could be built or run."""
    PARTIAL = 11
    """Stopped early (interrupted or out of budget) with a valid partial result, which was printed."""
    LOCK_MISMATCH = 12
    """The lock file is missing, damaged, or differs from what is being built."""
    MISSING = 13
    """A package that this needs is not installed; the message has the extra that brings it. Also ``doctor``'s verdict."""
    FALSE_CERTIFICATE = 14
    """The schedule is legal, but its certificate says something that is not so; every refused field was printed."""
    INTERRUPTED = 130
    """Interrupted before there was any result."""


def exit_code_of(error: WarpwrightError) -> ExitCode:
    """The exit code of an expected error."""
    match error:
        case ServerUnreachable():
            return ExitCode.UNREACHABLE
        case Outage():
            return ExitCode.FAULT
        case ServerError():
            return ExitCode.REFUSED
        case LockError(code="lock-nothing"):
            return ExitCode.NOTHING_USABLE
        case LockError():
            return ExitCode.LOCK_MISMATCH
        case ExtraMissing():
            return ExitCode.MISSING
        case WarpwrightError(code="device-missing"):
            return ExitCode.MISSING
        case WarpwrightError(code="device-busy" | "nothing-measured"):
            return ExitCode.FAULT
        case NotApplicable():
            return ExitCode.NOT_APPLICABLE
        case SolverFault():
            return ExitCode.FAULT
        case _:
            return ExitCode.BAD_INPUT
