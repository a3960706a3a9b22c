"""Where operations are placed: the part of a partial schedule that units, waits and stores share."""

from dataclasses import dataclass, field

from warpwright.solver.modulo.construct.shape import Shape

__all__ = ["PartialPlacement"]


@dataclass(slots=True)
class PartialPlacement:
    """Issue cycle and group of every operation placed so far; None and -1 for the others."""

    shape: Shape
    interval: int
    start: list[int | None] = field(init=False)
    group: list[int] = field(init=False)
    members: list[set[int]] = field(init=False)
    load: list[int] = field(init=False)
    """Cycles of execution on each group."""

    def __post_init__(self) -> None:
        count, groups = len(self.shape.cycles), len(self.shape.register_limit)
        self.start, self.group = [None] * count, [-1] * count
        self.members, self.load = [set() for _ in range(groups)], [0] * groups

    def put(self, op: int, at: int, group: int) -> None:
        """Places an operation."""
        self.start[op], self.group[op] = at, group
        self.members[group].add(op)
        self.load[group] += self.shape.cycles[op]

    def take(self, op: int) -> tuple[int, int]:
        """Removes an operation; returns where it was."""
        at, group = self.start[op], self.group[op]
        assert at is not None
        self.start[op], self.group[op] = None, -1
        self.members[group].discard(op)
        self.load[group] -= self.shape.cycles[op]
        return at, group
