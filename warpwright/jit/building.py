"""The IR of a stored choice, verified again before it is used.

Imports TVM, because the user's own process has it already; everywhere else compilers run in child processes.
"""

from collections.abc import Mapping
from typing import Any

from tvm import ir as tvm_ir

from warpwright.graphs import read_kernel, reply_error
from warpwright.jit.sources import KnownChoice
from warpwright.legality import violations_of
from warpwright.lowering.compile.empty_loops import guard_empty_loops
from warpwright.lowering.compile.lower import PASS_CONFIGS
from warpwright.lowering.frontend.placeholders import own_placeholders
from warpwright.solver.domain import HardwareProfile, Schedule, WarpwrightError, documents
from warpwright.tuning.children import ChildPool, Limits, Returned, users_environment

__all__ = ["built_from"]

WRITING = Limits(wall_seconds=120.0)


def built_from(ir: str, choice: KnownChoice, profile: HardwareProfile) -> tuple[Any, Mapping[str, Any]] | None:
    """The function to compile and its pass configurations; None for the compiler's default.

    The function is protected against the compiler's removal of empty loops, as it was when it was measured
    (``warpwright.lowering.compile.empty_loops``).

    Raises:
        WarpwrightError: ``schedule-illegal``; ``choice-unknown``; any error of reading the kernel or writing the schedule.
    """
    if choice.schedule is None and choice.kind == "default":
        return None
    configs = next((entry for kind, entry in PASS_CONFIGS.items() if kind == choice.kind), None)
    if configs is None:
        raise WarpwrightError(f"there is no choice {choice.kind!r}", code="choice-unknown")
    text = ir if choice.schedule is None else _scheduled(ir, choice.schedule, profile)
    return guard_empty_loops(own_placeholders(tvm_ir.load_json(text))), configs


def _scheduled(ir: str, schedule: Schedule, profile: HardwareProfile) -> str:
    with ChildPool(1, environment=users_environment()) as pool:
        graph, _ = read_kernel(ir, profile, pool=pool)
        if broken := violations_of(graph, profile, schedule):
            message = f"the stored schedule is illegal: {broken[0].family}: {broken[0].message}"
            raise WarpwrightError(message, code="schedule-illegal", place=broken[0].place)
        reply = pool.run("materialize.warp", {"ir": ir, "schedule": documents.dump(schedule)}, WRITING)
    if not isinstance(reply, Returned):
        raise reply_error(reply, "writing the schedule")
    return str(reply.value["ir"])
