"""Which schedule is better, level by level: the main loop's interval, the author's own width, the other loops' intervals, rings
that are deep enough, on-chip bytes, length, synchronisations, then fixed preferences.

The last levels do not judge speed. They make the answer unique and sensible: registers as experts split them (the least that a
loader may have, the most that helps a consumer), the kernel's own width, source order, earlier buffers deeper.
"""

from warpwright.solver.device.limits import USEFUL_REGISTERS, WARPGROUP_THREADS
from warpwright.solver.engines.model import Expr, linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.families.shared_memory import on_chip
from warpwright.solver.warp.problem import CONSUMER

__all__ = ["objectives", "register_split"]

SYNCHRONISATIONS_A_PIPELINE = 4


def objectives(enc: WarpEncoding) -> list[Expr]:
    """The levels of one problem, most important first."""
    levels = [linear((1, enc.interval[scope.id])) for scope in enc.loops]
    own = enc.width.get(enc.problem.graph.threads // WARPGROUP_THREADS)
    if own is not None and enc.problem.pins.consumer_warpgroups is None:
        # The kernel's thread count is its author's choice: it stays unless another width makes the main loop shorter.
        levels.insert(1, linear((-1, own.var), constant=1))
    if enc.late:
        levels.append(linear(*((1, late) for late in enc.late.values())))
    levels.append(on_chip(enc))
    if enc.length:
        levels.append(linear(*((1, length) for length in enc.length.values())))
    if enc.leads:
        levels.append(linear(*((SYNCHRONISATIONS_A_PIPELINE, lead.var) for lead in enc.leads)))
    levels.append(register_split(enc))
    levels.append(_taste(enc))
    return levels


def register_split(enc: WarpEncoding) -> Expr:
    """Budgets where possible; small ones for other roles, and the consumer's near the useful maximum."""
    model, most = enc.model, max(v.hi for v in enc.registers.values())
    total = linear((1_000_000, enc.no_reallocation.var))
    for role, budget in enc.registers.items():
        if role != CONSUMER:
            total += (most + 1) * budget
            continue
        away = model.integer(
            "distance of the consumer registers from the useful maximum", 0, max(most, USEFUL_REGISTERS)
        )
        model.at_least(away + budget, USEFUL_REGISTERS)
        model.at_least(away - budget, -USEFUL_REGISTERS)
        total += away
    return total


def _taste(enc: WarpEncoding) -> Expr:
    """Preferences: widths near the kernel's own, no reordering, no late stages, low warps, earlier buffers deeper and merged."""
    own = enc.problem.graph.threads // WARPGROUP_THREADS
    total = linear(*((1000 * abs(groups - own), literal.var) for groups, literal in enc.width.items()))
    total -= linear(*((100 + n, literal.var) for n, literal in enumerate(enc.before.values(), 1)))
    for n, values in enumerate(enc.stage_is.values(), 1):
        total += linear(*((stage * (100 + n), literal.var) for stage, literal in values.items()))
    for n, depth in enumerate(enc.depth, 1):
        total += n * depth
    for n, literal in enumerate(enc.merged.values(), 1):
        total += n * literal.var
    for n, first in enumerate(enc.first_warp.values(), 1):
        total += n * first
    return total
