"""What the proof of a warp schedule covers: everything, or what the bound was computed for in each choice.

A bound of every legal schedule (:mod:`warpwright.solver.warp.every_schedule`) covers everything. One of a placement holds at
every width that the pins allow; a floor in it also for every order. A search covers every width of its placement.
"""

from collections.abc import Sequence
from enum import Enum, auto

from warpwright.solver.device.cycles import LOADS
from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain.bound import Bound
from warpwright.solver.domain.kernel import OpKind
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.proof_scope import Choice, Covered, LeftOut, ProofScope, Why
from warpwright.solver.warp.problem import CONSUMER, LOAD, STORE, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import loops_by_weight

__all__ = ["Reach", "scope_of"]

FLOORS = ("resource:", "busy:", "queue:", "stream:", "copies:", "contention:", "phases:")
"""Reasons of bounds that no order, no depth and no register split can go below (:mod:`warpwright.solver.warp.floors`)."""


class Reach(Enum):
    """Over which schedules a bound was computed."""

    EVERY = auto()
    """Every legal schedule."""
    PINNED_WIDTH = auto()
    """Every legal schedule of the pinned width."""
    PLACED = auto()
    """Every legal schedule with the same placement that keeps the pins."""
    SEARCHED = auto()
    """What the search offers: the same placement, every width, orders as far as it changes them."""


def scope_of(
    reading: Reading, lower: Bound, reach: Reach, every: Bound | None, undecided: Sequence[str] = ()
) -> ProofScope:
    """What ``lower`` holds for; ``every`` is the bound of every legal schedule, pins or not, and ``undecided`` are the placements
    that the budget was too small for.
    """
    problem = reading.problem
    loops = loops_by_weight(problem)
    free = not loops or reach is Reach.EVERY
    chosen = {
        Choice.WIDTH: width_words(reading),
        Choice.PLACEMENT: placement_words(reading),
        Choice.ORDER: order_words(reading),
        Choice.PIPELINES: pipeline_words(reading),
        Choice.REGISTERS: register_words(reading),
    }
    floor = reach is not Reach.SEARCHED and lower.reason.startswith(FLOORS)
    choices = []
    for choice, words in chosen.items():
        left = None if free else _left_out(problem.pins, choice, reach, floor=floor)
        cut = [LeftOut(what, Why.BUDGET) for what in undecided if choice is Choice.PLACEMENT]
        choices.append(Covered(choice, words) if left is None else _narrow(choice, words, (*cut, left)))
    return ProofScope(loops[0] if loops else "", tile_words(problem), tuple(choices), None if free else every)


def _narrow(choice: Choice, words: str, left: tuple[LeftOut, ...]) -> Covered:
    return Covered(choice, words, every=False, over=(words,), left_out=left)


def _left_out(pins: Pins, choice: Choice, reach: Reach, *, floor: bool) -> LeftOut | None:
    """The values of a choice that the bound does not hold for; None if there are none."""
    if choice is Choice.WIDTH:
        return LeftOut("other widths", Why.PINNED) if pins.consumer_warpgroups is not None else None
    if reach is Reach.PINNED_WIDTH:
        return None
    if choice is Choice.PLACEMENT:
        return LeftOut("other placements", Why.NOT_SEARCHED)
    if floor:
        return None
    match choice:
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
