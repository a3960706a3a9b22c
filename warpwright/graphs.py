"""IR to kernel graph, through the frontend's child."""

from warpwright.solver.domain import (
    ExtraMissing,
    ForeignCode,
    HardwareProfile,
    KernelGraph,
    NotApplicable,
    TargetFamily,
    WarpwrightError,
    documents,
)
from warpwright.tuning.children import ChildPool, Limits, Raised, Refused, Reply, Returned, run_task

__all__ = ["read_graph", "read_kernel", "reply_error"]

_CLASSES: dict[str, type[WarpwrightError]] = {
    kind.__name__: kind for kind in (ExtraMissing, ForeignCode, NotApplicable)
}
READ = Limits(wall_seconds=120.0, cpu_seconds=120.0, memory_bytes=6 << 30)


def read_graph(ir: str, profile: HardwareProfile, *, pool: ChildPool | None = None) -> KernelGraph:
    """The kernel as the solver sees it on this device; raises as :func:`read_kernel`."""
    return read_kernel(ir, profile, pool=pool)[0]


def read_kernel(ir: str, profile: HardwareProfile, *, pool: ChildPool | None = None) -> tuple[KernelGraph, str]:
    """The kernel as the solver sees it on this device, and its renaming-invariant hash.

    Raises:
        NotApplicable: no schedule that Warpwright knows can express the kernel.
        ForeignCode: the IR could run code that is not allowed.
        WarpwrightError: the IR is damaged, or the profile lacks a number.
    """
    task = "frontend.read" if profile.family is TargetFamily.CUDA else "frontend.read_ascend"
    reply = run_task(task, {"ir": ir, "profile": documents.dump(profile)}, READ, pool=pool)
    if not isinstance(reply, Returned):
        raise reply_error(reply, "reading the IR")
    graph: KernelGraph = documents.load(KernelGraph, reply.value["graph"])
    return graph, str(reply.value["ir_hash"])


def reply_error(reply: Reply, doing: str) -> WarpwrightError:
    """The error that a child's reply stands for; its code decides the class."""
    match reply:
        case Refused(code=code, message=message, place=place, error=name):
            return _CLASSES.get(name, WarpwrightError)(message, code=code, place=place)
        case Raised(type=kind_name, message=message):
            return WarpwrightError(f"{doing} failed: {kind_name}: {message}", code="child-raised")
        case _:
            return WarpwrightError(f"{doing} failed: {type(reply).__name__}", code="child-failed")
