"""Whether a build waits for registers that it cannot get: its requests, as read back from the code, against the register pool.

Every candidate is held to it, the compiler's own choices included: TileLang requests 240 registers for the consumers of a kernel
that asks for two blocks an SM, where the launch gives 80. Such a kernel hangs the device.
"""

from warpwright.lowering.compile import ptxas
from warpwright.lowering.compile.readback import ReadBack
from warpwright.lowering.compile.result import Launch, PtxasReport
from warpwright.lowering.compile.sass import SassReport
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.device.limits import WARP_THREADS, read_limits
from warpwright.solver.device.registers import pool_excess
from warpwright.solver.domain import Outcome
from warpwright.solver.domain.profile import HardwareProfile

__all__ = ["EXCEEDED", "held_registers", "over_pool"]

EXCEEDED = "pool_exceeded"
"""Detail of the outcome; the verifier's rule has the same name."""
IGNORED = "register_request_ignored"


def held_registers(
    found: ReadBack, launch: Launch, report: PtxasReport | None, profile: HardwareProfile
) -> tuple[tuple[int, ...], int]:
    """Registers per thread of each warpgroup after reallocation, and those of a thread at launch.

    The latter is the assembler's number; without a binary it is what the launch bounds give. The former is empty if the code
    requests nothing.
    """
    if not found.register_requests:
        return (), report.registers if report else 0
    if report is not None:
        unit = profile.integer("registers.allocation_unit_per_warp", "registers") // WARP_THREADS
        entry = -(-report.registers // unit) * unit
    else:
        largest = max(request.registers for request in found.register_requests)
        entry = read_limits(profile).launch_registers(launch.block_threads, found.min_blocks or 1, largest)
    return found.held(launch.block_threads, entry), entry


def over_pool(
    found: ReadBack, launch: Launch, report: PtxasReport | None, sass: SassReport | None, profile: HardwareProfile
) -> StepOutcome | None:
    """The refusal of a build whose warpgroups request more registers than its block gets at launch; None if they fit.

    Requests that the assembler dropped, by its own word or by the machine code, hold up nobody.
    """
    dropped = report is not None and IGNORED in ptxas.details(report)
    if dropped or (sass is not None and not sass.register_requests):
        return None
    held, entry = held_registers(found, launch, report, profile)
    if not (excess := pool_excess(held, entry)):
        return None
    message = f"register_pool: {excess}: it would wait for ever"
    return StepOutcome(Outcome.REFUSED, message, (EXCEEDED,), "registers", sum(held), len(held) * entry)
