"""The outermost edge: an error becomes a message on stderr, a document on stdout with ``--json``, and an exit code."""

import errno
import json
import sys
import traceback
from contextlib import suppress

from warpwright.cli.exit_codes import ExitCode, exit_code_of
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.solver.domain.extras import missing_of

__all__ = ["report_failure", "report_usage"]

MACHINE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE}
)
"""Errors of the machine, where a traceback does not help: disk full, read-only, no permission, too many files."""


def report_failure(error: Exception, *, as_json: bool) -> ExitCode:
    """Tells the user what went wrong: a bug in Warpwright with its traceback, an expected error without.

    A command's body imports what it needs: for a missing package, the message names the extra.
    """
    if isinstance(error, ModuleNotFoundError):
        error = missing_of(error.name, "this command") or error
    if isinstance(error, WarpwrightError):
        code, message, place, exit_code = error.code, error.message, error.place, exit_code_of(error)
        sys.stderr.write(f"error: {message}\n" + (f"  at {place}\n" if place else "") + f"  code {code}\n")
    elif isinstance(error, OSError) and error.errno in MACHINE:
        code, message, place, exit_code = "machine", str(error), None, ExitCode.FAULT
        with suppress(OSError):
            sys.stderr.write(f"error: {message}\n  code {code}\n")
    else:
        code, message, place, exit_code = "fault", f"{type(error).__name__}: {error}", None, ExitCode.FAULT
        sys.stderr.write("".join(traceback.format_exception(error)))
        sys.stderr.write("This is a bug in Warpwright; please report it with the lines above.\n")
    if as_json:
        document = {"schema": "warpwright.error/1", "error": {"code": code, "message": message, "place": place}}
        with suppress(OSError):  # the error may be that nothing can be written there
            sys.stdout.write(json.dumps(document) + "\n")
            sys.stdout.flush()
    return exit_code


def report_usage() -> None:
    """The document for a wrong command line; the message itself is on standard error."""
    error = {"code": "usage", "message": "the command line is wrong; see standard error", "place": None}
    sys.stdout.write(json.dumps({"schema": "warpwright.error/1", "error": error}) + "\n")
