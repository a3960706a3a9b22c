"""What the proof of a warp schedule covers: the search's reach in each choice, or everything if the bound is a unit's own.

A unit's busy cycles (``resource:<unit>``) at the best width bound every schedule; under a pinned width they may be more. Every
other bound is one of the width, the placement and the order that it was computed for.
"""

from warpwright.solver.device.cycles import LOADS
from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain.bound import Bound
from warpwright.solver.domain.kernel import OpKind
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.proof_scope import Choice, Covered, LeftOut, ProofScope, Why
from warpwright.solver.warp.problem import CONSUMER, LOAD, STORE, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import loops_by_weight

__all__ = ["scope_of"]

RESOURCE = "resource:"


def scope_of(reading: Reading, lower: Bound, anywhere: Bound | None) -> ProofScope:
    """What ``lower`` holds for; ``anywhere`` is the bound of every legal schedule, pins or not."""
    problem = reading.problem
    loops = loops_by_weight(problem)
    reached = anywhere is not None and anywhere.cycles >= lower.cycles
    free = not loops or (lower.reason.startswith(RESOURCE) and reached)
    chosen = {
        Choice.WIDTH: width_words(reading),
        Choice.PLACEMENT: placement_words(reading),
        Choice.ORDER: order_words(reading),
        Choice.PIPELINES: pipeline_words(reading),
        Choice.REGISTERS: register_words(reading),
    }
    choices = tuple(
        Covered(choice, words)
        if free or not (left := _left_out(problem.pins, choice))
        else _narrow(choice, words, left)
        for choice, words in chosen.items()
    )
    return ProofScope(loops[0] if loops else "", tile_words(problem), choices, None if free else anywhere)


def _narrow(choice: Choice, words: str, left: LeftOut) -> Covered:
    return Covered(choice, words, every=False, over=(words,), left_out=(left,))


def _left_out(pins: Pins, choice: Choice) -> LeftOut | None:
    """The values of a choice that the search does not offer, or that the pins exclude; None if there are none."""
    match choice:
        case Choice.WIDTH:
            return LeftOut("other widths", Why.PINNED if pins.consumer_warpgroups is not None else Why.NOT_SEARCHED)
        case Choice.PLACEMENT:
            return LeftOut("other placements", Why.NOT_SEARCHED)
        case Choice.ORDER:
            pinned = pins.stages or pins.software_pipelining is not None
            return LeftOut("other orders", Why.PINNED if pinned else Why.NOT_SEARCHED)
        case Choice.PIPELINES:
            fixed = pins.depths or pins.pipelines or pins.merged_pipelines is not None
            return LeftOut("other pipelines", Why.PINNED) if fixed else None
        case _:
            return LeftOut("other registers", Why.PINNED) if pins.roles else None


def tile_words(problem: WarpProblem) -> str:
    """Rows, columns and depth of the largest product of the first loop; of the kernel if that loop has none."""
    loops = loops_by_weight(problem)
    inside = [op.gemm for op in problem.source.below(loops[0])] if loops else []
    shapes = [shape for shape in inside if shape is not None]
    shapes = shapes or [op.gemm for op in problem.graph.ops if op.gemm is not None]
    if not shapes:
        return ""
    largest = max(shapes, key=lambda shape: shape.m * shape.n * shape.k)
    return f"{largest.m} x {largest.n} x {largest.k}"


def width_words(reading: Reading) -> str:
    """Consumer warpgroups of a schedule."""
    consumer = reading.roles.get(CONSUMER)
    groups = 0 if consumer is None else consumer.warps // WARPGROUP
    return f"{groups} consumer warpgroup" + ("" if groups == 1 else "s")


def placement_words(reading: Reading) -> str:
    """Who loads and who stores, if that is the usual role; otherwise what each role runs beside the consumer."""
    roles = [role.name for role in reading.schedule.roles if role.name != CONSUMER]
    runs = {
        role: [op.id for op in reading.problem.graph.ops if role in reading.placement.get(op.id, ())] for role in roles
    }
    kinds = {op.id: op.kind for op in reading.problem.graph.ops}
    work = {role: [op for op in ops if kinds[op] is not OpKind.BIND] for role, ops in runs.items()}
    loads = {op.id for op in reading.problem.graph.ops if op.kind in LOADS}
    words = []
    for role, ops in work.items():
        if role == LOAD and loads and set(ops) == loads:
            words.append("loads in their own role")
        elif role == STORE and all(kinds[op] is OpKind.TMA_STORE for op in ops):
            words.append("stores in their own role")
        else:
            words.append(f"{', '.join(ops)} in the {role} role")
    return " and ".join(words) or "everything in one role"


def order_words(reading: Reading) -> str:
    """Whether iterations overlap inside a role."""
    staged = any(entry.delta for scope, role in reading.bodies for entry in reading.entries(scope, role) if entry.item)
    return "iterations overlapped" if staged else "operations in source order"


def pipeline_words(reading: Reading) -> str:
    """Every pipeline's buffers with its depth."""
    made = [f"{'+'.join(pipe.buffers)} at depth {pipe.depth}" for pipe in reading.schedule.pipelines]
    return ", ".join(made) or "no pipelines"


def register_words(reading: Reading) -> str:
    """Every role's budget."""
    held = [(role.name, role.registers_per_thread) for role in reading.schedule.roles]
    if not any(amount for _, amount in held):
        return "registers as launched"
    return ", ".join(f"{name} {amount} registers" for name, amount in held)
