"""One attempt of the constructive search: operations are inserted in an order and eject others if they are stuck."""

import heapq
from random import Random

from warpwright.solver.modulo.construct.partial import Partial

__all__ = ["Insertion"]

MOMENTS = 24
"""How many cycles of a group are considered for forcing; a sample if there are more."""
PATIENCE = 4
"""How often an operation may be stuck before it may also eject its producers and consumers."""


class Insertion:
    """One attempt with one order. ``price`` is the cost of ejecting each operation: it rises by one each time the
    operation was stuck.
    """

    def __init__(self, partial: Partial, order: list[int], random: Random) -> None:
        self.partial, self._random = partial, random
        self._rank = {op: place for place, op in enumerate(order)}
        self.price = [1] * len(order)
        self._last: dict[int, tuple[int, int]] = {}
        self._open = [(place, op) for place, op in enumerate(order)]

    @property
    def done(self) -> bool:
        """Whether every operation is placed."""
        return not self._open

    def step(self) -> bool:
        """Inserts the first operation of the order that is not placed; False if nothing is left or it fits nowhere."""
        if not self._open:
            return False
        _, op = heapq.heappop(self._open)
        if self._insert(op) or self._force(op):
            return True
        heapq.heappush(self._open, (self._rank[op], op))
        return False

    def _insert(self, op: int) -> bool:
        """Places an operation where it fits at the least cost; False if it fits nowhere."""
        best: tuple[int, int, int, int] | None = None
        for number, group in enumerate(self._groups(op)):
            found = self._first(op, group, None if best is None else best[0])
            if found is None:
                continue
            at, delay = found
            cost = delay + self._crossing(op, group)
            if best is None or (cost, number) < best[:2]:
                best = (cost, number, at, group)
        if best is None:
            return False
        self.partial.place(op, best[2], best[3])
        return True

    def _groups(self, op: int) -> list[int]:
        """Candidate groups: those of its neighbours first, then by load; of equal idle groups only one."""
        partial, shape = self.partial, self.partial.shape
        near: dict[int, int] = {}
        for links in (shape.into[op], shape.out[op]):
            for link in links:
                if link.value and partial.start[link.other] is not None and link.other != op:
                    group = partial.group[link.other]
                    near[group] = near.get(group, 0) + link.spill + 1
        kinds, chosen = set(), []
        for group in sorted(shape.places[op], key=lambda g: (-near.get(g, 0), partial.load[g], g)):
            if not partial.members[group]:
                kind = (shape.register_limit[group], shape.problem.groups[group].warps) if shape.grouped else (0, 0)
                if kind in kinds and not shape.problem.ops[op].groups:
                    continue
                kinds.add(kind)
            chosen.append(group)
        return chosen

    def _crossing(self, op: int, group: int) -> int:
        partial, shape = self.partial, self.partial.shape
        total = 0
        for links in (shape.into[op], shape.out[op]):
            for link in links:
                if link.value and partial.start[link.other] is not None and partial.group[link.other] != group:
                    total += link.spill
        return total

    def _span(self, op: int, group: int) -> tuple[int, int, bool] | None:
        """The search window: first and last cycle, and whether to start from the late end."""
        partial, interval = self.partial, self.partial.interval
        earliest, latest = partial.window(op, group)
        low, high = partial.stages()
        if earliest is not None and latest is not None:
            up = self._has_producer(op) or not self._has_consumer(op)
            low, high = max(low, earliest), min(high, latest)
            return (low, high, not up) if low <= high else None
        if latest is not None:
            low, high = max(low, latest - interval + 1), min(high, latest)
            return (low, high, True) if low <= high else None
        low = max(low, earliest) if earliest is not None else max(low, min(0, high))
        high = min(high, low + interval - 1)
        return (low, high, False) if low <= high else None

    def _has_producer(self, op: int) -> bool:
        links = self.partial.shape.into[op]
        return any(a.distance == 0 and self.partial.start[a.other] is not None for a in links if a.other != op)

    def _has_consumer(self, op: int) -> bool:
        links = self.partial.shape.out[op]
        return any(a.distance == 0 and self.partial.start[a.other] is not None for a in links if a.other != op)

    def _first(self, op: int, group: int, most: int | None) -> tuple[int, int] | None:
        """The first cycle in the window at which the operation fits, and its distance from the window's end."""
        span = self._span(op, group)
        if span is None:
            return None
        low, high, down = span
        high_turn, low_turn = min(high, low + self.partial.interval - 1), max(low, high - self.partial.interval + 1)
        at = high if down else low
        while low_turn <= at if down else at <= high_turn:
            delay = high - at if down else at - low
            if most is not None and delay > most:
                return None
            step = self.partial.obstacle(op, at, group)
            if step is None:
                return at, delay
            at += -step[1] if down else step[0]
        return None

    def _force(self, op: int) -> bool:
        """Places an operation where the ejected ones are cheapest; False if it fits nowhere at all."""
        self.price[op] += 1
        partial = self.partial
        best: tuple[float, int, int, set[int]] | None = None
        most = sum(self.price)
        for group in self._groups(op):
            moments = self._moments(op, group)
            if len(moments) > MOMENTS:
                moments = self._random.sample(moments, MOMENTS)
            for at in moments:
                if self._last.get(op) == (at, group):
                    continue
                gone = partial.victims(op, at, group, self.price, most)
                if gone is None:
                    continue
                cost = sum(self.price[other] for other in gone) + self._random.random() * 0.5
                if best is None or cost < best[0]:
                    best, most = (cost, at, group, gone), int(cost)
        if best is None:
            return False
        _, at, group, gone = best
        for other in sorted(gone):
            self._eject(other)
        for other in sorted(partial.relieve(op, at, group, self.price)):
            self._eject(other)
        partial.place(op, at, group)
        self._last[op] = (at, group)
        return True

    def _eject(self, op: int) -> None:
        self.partial.remove(op)
        heapq.heappush(self._open, (self._rank[op], op))

    def _moments(self, op: int, group: int) -> list[int]:
        """Cycles at which to consider forcing: next to and instead of others on its units and in its group.

        First within the dependences; an operation that was stuck more often may break those too, up to one
        interval after its producers and before its consumers.
        """
        partial, interval = self.partial, self.partial.interval
        earliest, latest = partial.window(op, group)
        phases = partial.moments(op)
        for other in partial.members[group]:
            there = partial.start[other]
            assert there is not None
            phases.add(there + partial.shape.cycles[other])
        found: set[int] = set()
        if earliest is None and latest is None:
            earliest = partial.stages()[0]
        if earliest is not None:
            found.add(earliest)
            found.update(earliest + (phase - earliest) % interval for phase in phases)
        if latest is not None:
            found.add(latest)
            found.update(latest - (latest - phase) % interval for phase in phases)
        if self.price[op] > PATIENCE:
            return sorted(found)
        inside = [at for at in found if (earliest is None or at >= earliest) and (latest is None or at <= latest)]
        return sorted(inside or {at for at in (earliest, latest) if at is not None})
