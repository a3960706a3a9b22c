"""Placements beside the rule's: the one that a finished schedule has, and those that a search may try."""

from collections.abc import Iterator

from warpwright.solver.device.cycles import LOADS
from warpwright.solver.domain.kernel import OpKind
from warpwright.solver.domain.pins import Pins, PlacementPin
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import CONSUMER, LOAD, ROLES, STORE, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.timing import loops_by_weight

__all__ = ["as_placed", "moved", "with_store_role"]


def as_placed(reading: Reading) -> WarpProblem | None:
    """The schedule's problem with its placement pinned: what a bound of that placement is about. None for foreign roles."""
    problem = reading.problem
    if set(reading.roles) - set(ROLES):
        return None
    if problem.pins.store_role is None and STORE in reading.roles:
        problem = with_store_role(problem)
    rule = structure_of(problem).placement
    other = [(op.id, reading.placement.get(op.id, ())) for op in problem.graph.ops]
    pins = [PlacementPin(op_id, roles[0]) for op_id, roles in other if len(roles) == 1 and roles != rule[op_id]]
    return _placed(problem, pins)


def with_store_role(problem: WarpProblem) -> WarpProblem:
    """The problem with its stores in a role of their own."""
    return problem.with_pins(Pins(store_role=True))


def moved(problem: WarpProblem) -> Iterator[tuple[str, WarpProblem]]:
    """Placements that differ from the rule's in one operation of the main loop, with their words: a load in the role that uses
    its data, anything else that is not tied to a matrix product in the load role. Those that no pipeline can serve are left out.
    """
    loops = loops_by_weight(problem)
    rule = structure_of(problem)
    pinned = {pin.op for pin in problem.pins.placements}
    for op in problem.source.below(loops[0]) if loops else ():
        target = CONSUMER if op.kind in LOADS else LOAD
        fixed = op.id in pinned or op.gemm is not None or op.kind in (OpKind.BIND, OpKind.WAIT)
        if fixed or rule.placement[op.id] == (target,):
            continue
        other = _placed(problem, [PlacementPin(op.id, target)])
        if not structure_of(other).conflicts and structure_of(other).placement != rule.placement:
            yield f"{op.id} in the {target} role", other


def _placed(problem: WarpProblem, pins: list[PlacementPin]) -> WarpProblem:
    return problem.with_pins(Pins(placements=tuple(pins))) if pins else problem
