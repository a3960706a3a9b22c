"""Waits in a partial schedule: no operation of a group executes while another one of the group blocks."""

from warpwright.solver.modulo.construct.placed import PartialPlacement

__all__ = ["Waits"]


class Waits:
    """Queries about blocking waits; it has no state of its own."""

    def __init__(self, placed: PartialPlacement) -> None:
        self._placed = placed

    def blocks(self, op: int, group: int) -> bool:
        """Whether the operation begins with a blocking wait on that group, as far as its producers are placed."""
        placed = self._placed
        for link in placed.shape.into[op]:
            if link.drains:
                return True
            if (
                link.meets
                and link.other != op
                and placed.start[link.other] is not None
                and placed.group[link.other] != group
            ):
                return True
        return False

    def obstacle(self, op: int, at: int, group: int) -> tuple[int, int] | None:
        """Cycles to move later or earlier past a wait inside an execution; the interval if no move helps."""
        placed, cycles = self._placed, self._placed.shape.cycles
        interval, waits, mine = placed.interval, self.blocks(op, group), cycles[op]
        for other in placed.members[group]:
            there = placed.start[other]
            assert there is not None
            past = (at - there) % interval
            if waits and past < cycles[other]:
                return max(cycles[other] - past, 1), past + 1
            ahead = (there - at) % interval
            if ahead < mine and self.blocks(other, group):
                return ahead + 1, max(mine - ahead, 1)
        return (interval, interval) if self._new_waits(op, group) else None

    def victims(self, op: int, at: int, group: int) -> set[int]:
        """Operations that would wait during this one, or execute while another waits because of it."""
        placed, cycles, gone = self._placed, self._placed.shape.cycles, set()
        interval, waits = placed.interval, self.blocks(op, group)
        for other in placed.members[group]:
            there = placed.start[other]
            assert there is not None
            inside = waits and (at - there) % interval < cycles[other]
            if inside or ((there - at) % interval < cycles[op] and self.blocks(other, group)):
                gone.add(other)
        gone.update(self._new_waits(op, group))
        return gone

    def _new_waits(self, op: int, group: int) -> list[int]:
        """Operations that execute when a consumer on another group issues and now has to wait because of this placement."""
        placed, found = self._placed, []
        for link in placed.shape.out[op]:
            there, theirs = placed.start[link.other], placed.group[link.other]
            if not link.meets or there is None or link.other == op or theirs == group:
                continue
            if self.blocks(link.other, theirs):
                continue
            for other in placed.members[theirs]:
                begin = placed.start[other]
                assert begin is not None
                if other != link.other and (there - begin) % placed.interval < placed.shape.cycles[other]:
                    found.append(other)
        return found
