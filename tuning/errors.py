"""What a child's reply means for the step that asked: a refusal of the input, or a failure and who caused it."""

from collections.abc import Sequence

from structlog.contextvars import get_contextvars

from warpwright.solver.domain import (
    DocumentError,
    ExtraMissing,
    Failure,
    ForeignCode,
    GraphError,
    NotApplicable,
    NotBuildable,
    Outcome,
    PinError,
    ProfileError,
    SolverFault,
    WarpwrightError,
)
from warpwright.tuning import telemetry
from warpwright.tuning.children import Raised, Refused, Reply
from warpwright.tuning.children.step_outcome import ChildStep, of_reply
from warpwright.tuning.toolchain import StepFailed

__all__ = ["code_of", "failed", "refusal", "solver_fault", "trace"]

_CLASSES: dict[str, type[WarpwrightError]] = {
    kind.__name__: kind
    for kind in (
        DocumentError,
        ExtraMissing,
        ForeignCode,
        GraphError,
        NotApplicable,
        NotBuildable,
        PinError,
        ProfileError,
    )
}
_STEPS: dict[str, ChildStep] = {
    "frontend": "frontend",
    "solve": "frontend",
    "materialize": "materialize",
    "compile": "compile",
    "measure": "measure",
}


def refusal(reply: Refused) -> WarpwrightError:
    """The error that the child raised, as an exception of this process; the domain's own class if it is one."""
    kind = _CLASSES.get(reply.error, WarpwrightError)
    return kind(reply.message, code=reply.code, place=reply.place)


def solver_fault(reply: Reply) -> WarpwrightError | StepFailed:
    """A solver that raised is a bug in Warpwright; one whose children died in every attempt may succeed later."""
    if isinstance(reply, Raised):
        return SolverFault(
            f"the solver raised {reply.type}: {reply.message[:500]}; please report this bug in Warpwright"
        )
    how = failed(reply, "solve").failure.message
    message = f"the solver's process died, also with another seed and with the other engine: {how}"
    return StepFailed(Outcome.INFRASTRUCTURE, Failure("solver-died", message))


def failed(reply: Reply, step: str) -> StepFailed:
    """The failure of a step whose task did not return."""
    outcome = of_reply(reply, _STEPS[step])
    if outcome is None:
        raise AssertionError("the task returned")
    kind = Outcome.SKIPPED if outcome.kind is Outcome.CANCELLED else outcome.kind
    detail = getattr(reply, "output_tail", "") or getattr(reply, "trace", "")
    return StepFailed(kind, Failure(code_of(kind, outcome.details), outcome.message, detail=detail[-8000:]))


def code_of(outcome: Outcome, details: Sequence[str]) -> str:
    """A stable code: the most specific one that is known, else the outcome's own."""
    return (details[0] if details else outcome.value).lower().replace("_", "-").replace(" ", "-")


def trace() -> str:
    """The trace to pass to a child: the current span in W3C form, else the trace id that this thread's logs carry."""
    return telemetry.traceparent() or str(get_contextvars().get("trace", ""))
