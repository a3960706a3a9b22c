"""Errors that the package raises to users, as a tree.

::

    WarpwrightError (warpwright.solver.domain)
    ├── KernelFileError          the kernel file has no kernel that can be read; says which and where
    ├── ServerError              the server answered with a problem document
    │   └── ServerUnreachable    no answer, or not in time
    └── LockError                a lock file that is missing, damaged, or does not fit what is being built
"""

from warpwright.solver.domain.errors import WarpwrightError

__all__ = ["KernelFileError", "LockError", "ServerError", "ServerUnreachable", "foreign"]


class KernelFileError(WarpwrightError):
    """The kernel file cannot be read: not there, no kernel, several kernels, arguments missing, or it raised."""

    code = "kernel-file-invalid"


class ServerError(WarpwrightError):
    """The server answered with a problem document; ``status`` is the HTTP status and ``code`` the problem's own."""

    code = "server-error"

    def __init__(self, message: str, *, status: int = 0, code: str | None = None, place: str | None = None) -> None:
        super().__init__(message, code=code, place=place)
        self.status = status


class ServerUnreachable(ServerError):
    """No answer: connection refused, unknown host name, or timeout."""

    code = "server-unreachable"


class LockError(WarpwrightError):
    """The lock file is missing, damaged, or its digests differ from what is being built."""

    code = "lock-mismatch"


def foreign(shown: str, *, status: int = 0) -> ServerError:
    """The error for an answer that did not come from the service, such as a login page of a proxy."""
    return ServerError(
        f"the answer did not come from a Warpwright server: {shown}", status=status, code="server-answer-foreign"
    )
