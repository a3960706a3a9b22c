"""Registers and memories of a partial schedule: everything alive at the same time fits, counting all iterations in flight.

Stores are numbered: first the registers of each group, then the memories.
"""

from collections.abc import Collection

from warpwright.solver.modulo.construct.placed import PartialPlacement
from warpwright.solver.modulo.construct.spans import Life, covers, fits, peak

__all__ = ["Stores"]


class Stores:
    """Which placed operation holds how much until when."""

    def __init__(self, placed: PartialPlacement) -> None:
        shape = placed.shape
        self._placed = placed
        self._limits = [*shape.register_limit, *shape.memory_capacity]
        self._first_memory = len(shape.register_limit)
        self._held: list[dict[int, int]] = [{} for _ in self._limits]
        self._until = [0] * len(shape.cycles)
        self.looked = 0
        """Examined lifetimes: the cost of the queries."""

    def put(self, op: int) -> None:
        """Records an operation that has just been placed."""
        for store, amount in self._stores(op, self._placed.group[op]):
            self._held[store][op] = amount
        self._renew(op)

    def taken(self, op: int, group: int) -> None:
        """Records an operation that has just been removed from a group."""
        for store, _ in self._stores(op, group):
            del self._held[store][op]
        self._renew(op)

    def over(self, op: int, at: int, group: int) -> bool:
        """Whether some store would overflow with this placement."""
        interval = self._placed.interval
        return any(
            not fits(self._lives(store, op, at, group), interval, self._limits[store])
            for store in self._touched(op, group)
        )

    def next_event(self, op: int, at: int, group: int) -> tuple[int, int]:
        """Cycles, later and earlier, to the next cycle at which the content may change: a birth or a death."""
        interval = self._placed.interval
        later, earlier = interval, interval
        holds = {0, *(link.hold for link in self._placed.shape.into[op] if link.value)}
        for store in self._touched(op, group):
            for begin, end, _, other in self._lives(store, op, at, group):
                if other == op:
                    continue
                for moment in (begin, end):
                    for hold in holds:
                        gap = (moment - hold - at) % interval
                        if gap:
                            later, earlier = min(later, gap), min(earlier, interval - gap)
        return later, earlier

    def relieve(self, op: int, at: int, group: int, gone: set[int], price: list[int]) -> bool:
        """Adds to ``gone`` the cheapest operations to eject so that every store suffices; False if that is not enough."""
        for store in self._touched(op, group):
            lives = self._lives(store, op, at, group, gone)
            while True:
                top, where = peak(lives, self._placed.interval)
                self.looked += len(lives)
                if top <= self._limits[store]:
                    break
                others = [life[3] for life in lives if life[3] != op and covers(life, where, self._placed.interval)]
                if not others:
                    return False
                cheapest = min(others, key=lambda other: (price[other], other))
                gone.add(cheapest)
                lives = [life for life in lives if life[3] != cheapest]
        return True

    def _stores(self, op: int, group: int) -> list[tuple[int, int]]:
        shape = self._placed.shape
        found = [(self._first_memory + memory, size) for memory, size in shape.memory[op]]
        return [(group, shape.registers[op]), *found] if shape.registers[op] else found

    def _touched(self, op: int, group: int) -> list[int]:
        """Stores whose contents a placement changes: its own, and its producers', whose results live longer."""
        placed = self._placed
        found = dict.fromkeys(store for store, _ in self._stores(op, group))
        for link in placed.shape.into[op]:
            if link.value and placed.start[link.other] is not None:
                found.update(dict.fromkeys(s for s, _ in self._stores(link.other, placed.group[link.other])))
        return list(found)

    def _lives(self, store: int, op: int, at: int, group: int, without: Collection[int] = ()) -> list[Life]:
        placed, lives = self._placed, []
        longer = {link.other: 0 for link in placed.shape.into[op] if link.value}
        for other, amount in self._held[store].items():
            if other in without:
                continue
            begin = placed.start[other]
            assert begin is not None
            end = self._end(other, begin, op, at) if other in longer else self._until[other]
            lives.append((begin, end, amount, other))
        for own, amount in self._stores(op, group):
            if own == store:
                lives.append((at, self._end(op, at, op, at), amount, op))
        self.looked += len(lives)
        return lives

    def _end(self, op: int, begin: int, moved: int, at: int) -> int:
        """When a result dies with ``moved`` issued at ``at``; consumers that are not placed yet count at their earliest cycle."""
        placed = self._placed
        end = begin + placed.shape.shortest[op]
        for link in placed.shape.out[op]:
            if link.value:
                there = at if link.other == moved else placed.start[link.other]
                if there is not None:
                    end = max(end, there + link.distance * placed.interval + link.hold)
        return end

    def _renew(self, op: int) -> None:
        placed = self._placed
        for other in {op, *(link.other for link in placed.shape.into[op] if link.value)}:
            begin = placed.start[other]
            if begin is not None:
                self._until[other] = self._end(other, begin, -1, 0)
