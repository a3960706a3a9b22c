"""Small modulo problems with a legal schedule, as starts for boundaries."""

from tests.unit.solver.modulo.families.boundaries import Situation
from tests.unit.solver.modulo.tiny import chain, two_groups
from warpwright.solver.modulo import (
    Group,
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    ModuloSchedule,
    ModuloUnit,
    ModuloWait,
    Use,
)

__all__ = ["handed_over", "ports", "product_and_softmax", "row", "streams"]


def row(*, capacity: int = 3) -> Situation:
    """Load, multiply and store every 3 cycles; three copies of what is loaded are alive at once."""
    return Situation(chain(capacity=capacity, stages=4), ModuloSchedule(3, {"load": 0, "multiply": 4, "store": 8}, {}))


def product_and_softmax(*, registers: int = 8) -> Situation:
    """A product on one group, its softmax and the next product on another."""
    return Situation(
        two_groups(registers=registers),
        ModuloSchedule(
            7, {"product": 0, "softmax": 6, "output": 10}, {"product": "left", "softmax": "right", "output": "right"}
        ),
    )


def handed_over(softmax: int) -> Situation:
    """The same every 9 cycles with room for all registers: 3 cycles for the product and 2 to hand it over."""
    schedule = ModuloSchedule(
        9, {"product": 0, "softmax": softmax, "output": 15}, product_and_softmax().schedule.groups
    )
    return Situation(two_groups(registers=20), schedule)


def streams() -> Situation:
    """A load of variable latency on its own small group, and its user on a warpgroup."""
    problem = ModuloProblem(
        "streams",
        (ModuloUnit("copy", 1),),
        (
            ModuloOp("load", 1, (Use("copy", 1),), variable_latency=True),
            ModuloOp("work", 1, (Use("copy", 1),), warps=4),
        ),
        (ModuloEdge("load", "work", 0, wait=ModuloWait.NEVER),),
        groups=(Group("wide", 4, 8), Group("narrow", 1, 8), Group("loads", 1, 8, variable_latency=True)),
    )
    return Situation(problem, ModuloSchedule(2, {"load": 0, "work": 1}, {"load": "loads", "work": "wide"}))


def ports(capacity: int) -> Situation:
    """Three operations on a unit of several instances, the first two at once."""
    ops = tuple(ModuloOp(name, 2, (Use("port", 2),)) for name in "abc")
    problem = ModuloProblem("ports", (ModuloUnit("port", capacity),), ops, (), max_stages=1)
    return Situation(problem, ModuloSchedule(4, {"a": 0, "b": 0, "c": 2}, {}))
