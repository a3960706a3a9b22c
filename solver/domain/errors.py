"""Errors of the domain model, as a tree.

::

    WarpwrightError              code, message, place
    ├── DocumentError            bytes that are not a valid document (JSON, schema, version, unknown key)
    ├── ProfileError             a hardware profile that lacks a number, a unit or a source
    ├── GraphError               a kernel graph whose parts do not fit together
    ├── PinError                 a pin that names nothing in the kernel, or has no legal value
    ├── NotApplicable            a kernel that is legal but outside what a schedule can express
    ├── NotBuildable             a kernel that cannot be built at all as it is: the message says what to change
    ├── ForeignCode              IR that could run code that is not allowed
    ├── SolverFault              an exception or a crash inside the solver: a bug in Warpwright, never the kernel's fault
    └── ExtraMissing             an optional part of the installed package is not there

Every error carries a stable ``code`` (kebab case, never changed, part of the API) and, where there is one, the ``place``:
a JSON pointer, a profile path or a statement id.
"""

__all__ = [
    "DocumentError",
    "ExtraMissing",
    "ForeignCode",
    "GraphError",
    "NotApplicable",
    "NotBuildable",
    "PinError",
    "ProfileError",
    "SolverFault",
    "WarpwrightError",
]


class WarpwrightError(Exception):
    """Base of all expected errors; ``code``, ``message`` and ``place`` may be shown to a client."""

    code: str = "warpwright-error"

    def __init__(self, message: str, *, code: str | None = None, place: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message} (at {self.place})" if self.place else self.message


class DocumentError(WarpwrightError):
    """The bytes are not a valid document: not JSON, another schema or version, an unknown key, a wrong type."""

    code = "document-invalid"


class ProfileError(WarpwrightError):
    """The hardware profile lacks a number, a unit, an origin or a source that is needed."""

    code = "profile-invalid"


class GraphError(WarpwrightError):
    """The kernel graph refers to an operation, buffer or scope that it does not have."""

    code = "graph-invalid"


class PinError(WarpwrightError):
    """A pin names nothing in this kernel or fixes a value that no schedule may have."""

    code = "pin-invalid"


class NotApplicable(WarpwrightError):
    """The kernel is legal, but no warp or buffer schedule can express it; it keeps its default schedule."""

    code = "not-applicable"


class NotBuildable(WarpwrightError):
    """The kernel cannot be built as it is, whoever schedules it; the message has the way out."""

    code = "not-buildable"


class ForeignCode(WarpwrightError):
    """The IR could run code that is not on the allow list (extern or packed calls, imported source, unknown intrinsics)."""

    code = "foreign-code"


class SolverFault(WarpwrightError):
    """The solver raised an exception: a bug in Warpwright, whatever the kernel, the profile and the pins."""

    code = "solver-fault"


class ExtraMissing(WarpwrightError):
    """Packages that come with an extra of this package are not installed; the message has the command that installs them."""

    code = "extra-missing"
