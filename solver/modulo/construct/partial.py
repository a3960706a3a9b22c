"""A partial modulo schedule: some operations are placed, and every rule holds among them.

The rules are used in two ways: :meth:`Partial.obstacle` says whether an operation fits at a cycle on a group and how far
to move if not, :meth:`Partial.victims` which operations must be ejected so that it fits.
"""

from collections.abc import Collection, Iterator

from warpwright.solver.modulo.construct.placed import PartialPlacement
from warpwright.solver.modulo.construct.shape import Shape
from warpwright.solver.modulo.construct.spans import Life, UnitCalendar, covers, fits, peak
from warpwright.solver.modulo.construct.stores import Stores
from warpwright.solver.modulo.construct.waits import Waits

__all__ = ["Partial"]

LIVES_A_QUESTION = 8
"""How many examined lifetimes cost as much as one query."""


class Partial(PartialPlacement):
    """Issue cycles and groups of the operations placed so far, with the resources that they occupy."""

    def __init__(self, shape: Shape, interval: int, paths: list[dict[int, int]]) -> None:
        super().__init__(shape, interval)
        self.whole = shape.problem.max_stages * interval
        self._after = paths
        self._before: list[list[tuple[int, int]]] = [[] for _ in paths]
        for source, row in enumerate(paths):
            for target, gap in row.items():
                if source != target:
                    self._before[target].append((source, gap))
        self._waits, self._stores, self._questions = Waits(self), Stores(self), 0
        self._lanes: list[UnitCalendar | None] = []
        self._shared: list[list[Life]] = [[] for _ in shape.unit_capacity]
        for unit, capacity in enumerate(shape.unit_capacity):
            uses = [use for op in shape.uses for use in op if use[0] == unit]
            alone = all(2 * use[3] > capacity for use in uses)
            self._lanes.append(UnitCalendar(interval, [use[2] for use in uses]) if alone else None)

    @property
    def asked(self) -> int:
        """The cost of the queries so far."""
        return self._questions + self._stores.looked // LIVES_A_QUESTION

    def place(self, op: int, at: int, group: int) -> None:
        """Places an operation where it is known to fit."""
        self.put(op, at, group)
        for unit, offset, cycles, amount in self.shape.uses[op]:
            lane = self._lanes[unit]
            if lane is not None:
                lane.add(at + offset, cycles, op)
            else:
                self._shared[unit].append((at + offset, at + offset + cycles, amount, op))
        self._stores.put(op)

    def remove(self, op: int) -> None:
        """Removes a placed operation."""
        at, group = self.take(op)
        for unit, offset, cycles, _ in self.shape.uses[op]:
            lane = self._lanes[unit]
            if lane is not None:
                lane.drop(at + offset, cycles, op)
            else:
                self._shared[unit] = [span for span in self._shared[unit] if span[3] != op]
        self._stores.taken(op, group)

    def window(self, op: int, group: int) -> tuple[int | None, int | None]:
        """Earliest and latest issue that the dependences on placed operations allow; None if there is no limit."""
        start, earliest, latest = self.start, None, None
        for source, gap in self._before[op]:
            at = start[source]
            if at is not None and (earliest is None or at + gap > earliest):
                earliest = at + gap
        for target, gap in self._after[op].items():
            at = start[target]
            if at is not None and target != op and (latest is None or at - gap < latest):
                latest = at - gap
        for link in self.shape.into[op]:
            at = start[link.other]
            if at is not None and link.spill and self.group[link.other] != group and link.other != op:
                ready = at + link.latency + link.spill - link.distance * self.interval
                earliest = ready if earliest is None else max(earliest, ready)
        for link in self.shape.out[op]:
            at = start[link.other]
            if at is not None and link.spill and self.group[link.other] != group and link.other != op:
                needed = at - link.latency - link.spill + link.distance * self.interval
                latest = needed if latest is None else min(latest, needed)
        return earliest, latest

    def stages(self) -> tuple[int, int]:
        """Issues outside these cycles would make the iteration longer than its stages allow."""
        placed = [at for at in self.start if at is not None]
        return (max(placed) - self.whole + 1, min(placed) + self.whole - 1) if placed else (0, self.whole - 1)

    def obstacle(self, op: int, at: int, group: int) -> tuple[int, int] | None:
        """None if the operation fits; otherwise how many cycles to move later or earlier past the first obstacle."""
        self._questions += 1
        for unit, offset, cycles, _ in self.shape.uses[op]:
            lane = self._lanes[unit]
            if lane is None:
                crowd = self._crowd(unit, op, at)
                if crowd is not None:
                    return crowd[0], crowd[1]
                continue
            clash = lane.clash(at + offset, cycles)
            if clash is not None:
                return clash
        if self.shape.grouped:
            blocked = self._waits.obstacle(op, at, group)
            if blocked is not None:
                return blocked
        for unit, offset, cycles, _ in self.shape.uses[op]:
            lane = self._lanes[unit]
            wasted = lane.waste(at + offset, cycles) if lane is not None else None
            if wasted is not None:
                return wasted
        return self._stores.next_event(op, at, group) if self._stores.over(op, at, group) else None

    def victims(self, op: int, at: int, group: int, price: list[int], most: int) -> set[int] | None:
        """Placed operations that must be ejected if the operation is forced in.

        None if no choice of them suffices, or if they cost more than ``most`` together.
        """
        self._questions += 1
        gone = set(self._late(op, at, group))
        for unit, offset, cycles, _ in self.shape.uses[op]:
            lane = self._lanes[unit]
            if lane is not None:
                gone |= lane.met(at + offset, cycles)
                continue
            while (crowd := self._crowd(unit, op, at, gone)) is not None:
                gone.add(min(crowd[2], key=lambda other: (price[other], other)))
        if self.shape.grouped:
            gone |= self._waits.victims(op, at, group)
        if sum(price[other] for other in gone) > most:
            return None
        return gone if self._stores.relieve(op, at, group, gone, price) else None

    def relieve(self, op: int, at: int, group: int, price: list[int]) -> set[int]:
        """Further operations to eject for registers and memories, after the known victims are gone."""
        gone: set[int] = set()
        self._stores.relieve(op, at, group, gone, price)
        return gone

    def moments(self, op: int) -> set[int]:
        """Phases next to and instead of the others on the operation's units."""
        found: set[int] = set()
        for unit, offset, cycles, _ in self.shape.uses[op]:
            lane = self._lanes[unit]
            spans = lane.spans if lane is not None else [(b, e - b, o) for b, e, _, o in self._shared[unit]]
            for phase, length, _ in spans:
                found |= {phase - offset, phase + length - offset, phase + length - cycles - offset}
        return found

    def _late(self, op: int, at: int, group: int) -> Iterator[int]:
        """Placed operations whose dependences or stages an issue at this cycle would break."""
        start = self.start
        for source, gap in self._before[op]:
            there = start[source]
            if there is not None and there + gap > at:
                yield source
        for target, gap in self._after[op].items():
            there = start[target]
            if there is not None and target != op and at + gap > there:
                yield target
        for links, sign in ((self.shape.into[op], 1), (self.shape.out[op], -1)):
            for link in links:
                there = start[link.other]
                if there is None or link.other == op or not link.spill or self.group[link.other] == group:
                    continue
                if sign * (at - there) + link.distance * self.interval < link.latency + link.spill:
                    yield link.other
        for other, there in enumerate(start):
            if there is not None and not -self.whole < there - at < self.whole:
                yield other

    def _crowd(self, unit: int, op: int, at: int, without: Collection[int] = ()) -> tuple[int, int, list[int]] | None:
        """Whether an operation does not fit next to others on a unit of several instances, counting all its uses there.

        If so: cycles to move later, cycles to move earlier, and the operations in the fullest cycle.
        """
        interval = self.interval
        mine = [(at + o, at + o + cycles, amount, op) for u, o, cycles, amount in self.shape.uses[op] if u == unit]
        spans = [span for span in self._shared[unit] if span[3] not in without]
        lives = [*spans, *mine]
        if fits(lives, interval, self.shape.unit_capacity[unit]):
            return None
        _, where = peak(lives, interval)
        others = [life[3] for life in spans if covers(life, where, interval)]
        later = min(((end - begin) % interval or interval for _, end, _, _ in spans for begin, _, _, _ in mine))
        earlier = min(((end - begin) % interval or interval for begin, _, _, _ in spans for _, end, _, _ in mine))
        return later, earlier, others
