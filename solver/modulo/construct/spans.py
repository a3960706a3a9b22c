"""Occupancy modulo the interval for the constructive search: a unit's busy stretches, and peaks of overlapping lives."""

from bisect import bisect_left, insort
from collections.abc import Sequence

__all__ = ["Life", "UnitCalendar", "covers", "fits", "peak"]

WIDEST = 1 << 17
"""Largest number of grid steps for which lengths are combined; with a finer grid gaps are not judged."""
TIGHT = 8
"""A unit with less than this fraction (1/n) idle is tight: its gaps must be fillable."""


Life = tuple[int, int, int, int]
"""Begin, end (in cycles of iteration 0), amount, operation."""


class UnitCalendar:
    """A unit that serves one operation at a time: its busy stretches, sorted, none overlapping."""

    def __init__(self, interval: int, lengths: list[int]) -> None:
        self.interval = interval
        self.spans: list[tuple[int, int, int]] = []
        """Phase, cycles, operation."""
        self._open: dict[int, int] = {}
        for length in lengths:
            self._open[length] = self._open.get(length, 0) + 1
        self.slack = interval - sum(lengths)
        self.grid = _gcd(lengths)
        self.tight = self.slack * TIGHT < interval and interval // self.grid <= WIDEST and len(lengths) > 1
        self._sums: int | None = None

    def add(self, phase: int, cycles: int, op: int) -> None:
        """Occupies a span that is known to be free."""
        insort(self.spans, (phase % self.interval, cycles, op))
        self._open[cycles] -= 1
        self._sums = None

    def drop(self, phase: int, cycles: int, op: int) -> None:
        """Frees a span."""
        self.spans.remove((phase % self.interval, cycles, op))
        self._open[cycles] += 1
        self._sums = None

    def clash(self, at: int, cycles: int) -> tuple[int, int] | None:
        """Cycles to move later or earlier past an operation in ``[at, at + cycles)``; None if it is free."""
        spans, interval = self.spans, self.interval
        if not spans:
            return None
        phase = at % interval
        index = bisect_left(spans, (phase + 1, 0, 0))
        before = spans[index - 1]
        end = before[0] + before[1] - (0 if index else interval)
        if end > phase:
            return end - phase, phase + cycles - end + before[1]
        after = spans[index] if index < len(spans) else spans[0]
        begin = after[0] + (0 if index < len(spans) else interval)
        if begin < phase + cycles:
            return begin + after[1] - phase, phase + cycles - begin
        return None

    def met(self, at: int, cycles: int) -> set[int]:
        """All operations on the unit in ``[at, at + cycles)``."""
        phase, interval, found = at % self.interval, self.interval, set()
        for begin, length, op in self.spans:
            if (phase - begin) % interval < length or (begin - phase) % interval < cycles:
                found.add(op)
        return found

    def waste(self, at: int, cycles: int) -> tuple[int, int] | None:
        """How far to move so that the idle cycles around a free span are within the unit's slack; None if they are.

        An idle gap loses the cycles that no combination of the remaining lengths can fill.
        """
        if not self.tight or not self.spans:
            return None
        phase = at % self.interval
        index = bisect_left(self.spans, (phase + 1, 0, 0))
        before = self.spans[index - 1]
        left = (phase - before[0] - before[1]) % self.interval
        after = self.spans[index % len(self.spans)]
        right = (after[0] - phase - cycles) % self.interval
        sums = self._fillable(cycles)
        whole = left + right + cycles
        lost = self._lost(left, sums) + self._lost(right, sums)
        if lost <= max(self.slack, self._lost(whole, self._fillable(0))):
            return None
        reach = left // self.grid
        higher = sums >> (reach + 1)
        later = ((higher & -higher).bit_length() + reach) * self.grid - left if higher else whole + 1
        lower = sums & ((1 << reach) - 1) if left % self.grid == 0 else sums & ((1 << (reach + 1)) - 1)
        earlier = left - (lower.bit_length() - 1) * self.grid if lower else whole + 1
        return max(later, 1), max(earlier, 1)

    def _lost(self, gap: int, sums: int) -> int:
        reach = gap // self.grid
        return gap - ((sums & ((1 << (reach + 1)) - 1)).bit_length() - 1) * self.grid

    def _fillable(self, without: int) -> int:
        """A bit for each length that the remaining operations can add up to, without one of ``without`` cycles."""
        if without == 0 and self._sums is not None:
            return self._sums
        sums, limit = 1, (1 << (self.interval // self.grid + 1)) - 1
        for length, count in self._open.items():
            count -= length == without
            step, part = length // self.grid, 1
            while count > 0:
                taken = min(part, count)
                sums |= (sums << (step * taken)) & limit
                count -= taken
                part *= 2
        if without == 0:
            self._sums = sums
        return sums


def _gcd(lengths: list[int]) -> int:
    found = 0
    for length in lengths:
        while length:
            found, length = length, found % length
    return max(found, 1)


def fits(lives: Sequence[Life], interval: int, capacity: int) -> bool:
    """Whether lifetimes, counting all iterations' copies, stay within a capacity."""
    most = sum(amount * -(-(end - begin) // interval) for begin, end, amount, _ in lives)
    return most <= capacity or peak(lives, interval)[0] <= capacity


def peak(lives: Sequence[Life], interval: int) -> tuple[int, int]:
    """The fullest cycle of the steady state: how much, and its phase."""
    base, steps = 0, []
    for begin, end, amount, _ in lives:
        rounds, rest = divmod(end - begin, interval)
        base += rounds * amount
        if not rest:
            continue
        first = begin % interval
        last = first + rest
        steps.append((first, amount))
        if last > interval:
            base += amount
            steps.append((last - interval, -amount))
        elif last < interval:
            steps.append((last, -amount))
    steps.sort()
    top, total, where = base, base, 0
    for phase, step in steps:
        total += step
        if total > top:
            top, where = total, phase
    return top, where


def covers(life: Life, phase: int, interval: int) -> bool:
    """Whether some iteration's copy of a life covers a phase of the steady state."""
    begin, end, _, _ = life
    return (phase - begin) // interval > (phase - end) // interval
