"""IR to kernel graph, through the frontend's child."""

from warpwright.solver.domain import (
    ExtraMissing,
    ForeignCode,
    HardwareProfile,
    KernelGraph,
    NotApplicable,
    NotBuildable,
    Pins,
    TargetFamily,
    WarpwrightError,
    documents,
)
from warpwright.tuning.children import ChildPool, Limits, Raised, Refused, Reply, Returned, run_task

__all__ = ["read_graph", "read_kernel", "reply_error"]

_CLASSES: dict[str, type[WarpwrightError]] = {
    kind.__name__: kind for kind in (ExtraMissing, ForeignCode, NotApplicable, NotBuildable)
}
READ = Limits(wall_seconds=120.0, cpu_seconds=120.0, memory_bytes=6 << 30)


def read_graph(
    ir: str, profile: HardwareProfile, *, pins: Pins | None = None, pool: ChildPool | None = None
) -> KernelGraph:
    """The kernel as the solver sees it on this device; raises as :func:`read_kernel`."""
    return read_kernel(ir, profile, pins=pins, pool=pool)[0]


def read_kernel(
    ir: str, profile: HardwareProfile, *, pins: Pins | None = None, pool: ChildPool | None = None
) -> tuple[KernelGraph, str]:
    """The kernel as the solver sees it on this device, and its renaming-invariant hash.

    Args:
        ir: The kernel.
        profile: The device.
        pins: Ascend only: TileLang's scheduling problems are those under these pins.
        pool: Where the child runs; one of its own by default.

    Raises:
        NotApplicable: no schedule that Warpwright knows can express the kernel.
        NotBuildable: the kernel cannot be built as it is.
        ForeignCode: the IR could run code that is not allowed.
        WarpwrightError: the IR is damaged, or the profile lacks a number.
    """
    task = "frontend.read" if profile.family is TargetFamily.CUDA else "frontend.read_ascend"
    payload = {"ir": ir, "profile": documents.dump(profile)}
    if pins is not None and profile.family is TargetFamily.ASCEND:
        payload["pins"] = documents.dump(pins)
    reply = run_task(task, payload, READ, pool=pool)
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
