"""Statistics of times, as pure functions. Nanoseconds in, nanoseconds out; nothing here knows a device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Summary", "Verdict", "finalists", "median", "quantile", "summary", "verdict"]

TIE_SPREADS = 2.0
"""A lead of fewer spreads than this, round by round, is no lead. Five equal candidates with 5 % noise then tie in nine rounds."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What is kept of a list of times. ``spread_ns`` is half the interquartile range: robust, and 0 for one sample."""

    count: int
    median_ns: float
    spread_ns: float
    minimum_ns: float
    p10_ns: float
    p90_ns: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of interleaved rounds: the order by median, who ties with the first, the winner by a fixed rule, its margin.

    ``margin`` is the relative lead over the fastest that does not tie, None when all tie.
    """

    order: tuple[str, ...]
    tied: tuple[str, ...]
    winner: str
    margin: float | None


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile by linear interpolation; ``ValueError`` for no values."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    if ordered[low] == ordered[high]:
        return float(ordered[low])
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def median(values: Sequence[float]) -> float:
    """The median."""
    return quantile(values, 0.5)


def summary(times: Sequence[float]) -> Summary:
    """Summary of at least one time."""
    return Summary(
        count=len(times),
        median_ns=median(times),
        spread_ns=(quantile(times, 0.75) - quantile(times, 0.25)) / 2,
        minimum_ns=float(min(times)),
        p10_ns=quantile(times, 0.1),
        p90_ns=quantile(times, 0.9),
    )


def finalists(medians: Mapping[str, float], margin: float, maximum: int) -> tuple[str, ...]:
    """The fastest and all at most ``margin`` (relative) slower, fastest first, at most ``maximum``; ties by name."""
    if not medians:
        return ()
    ordered = sorted(medians, key=lambda name: (medians[name], name))
    limit = medians[ordered[0]] * (1 + margin)
    return tuple(name for name in ordered if medians[name] <= limit)[:maximum]


def verdict(rounds: Mapping[str, Sequence[float]], tie_margin: float, preference: Sequence[str] = ()) -> Verdict:
    """Compares interleaved rounds pairwise, round by round, so that drift common to all cancels.

    Args:
        rounds: one figure a round for each name, in the same order of rounds.
        tie_margin: relative difference that counts as none.
        preference: who wins a tie, first named first; the rest follows by name.

    Two tie when the paired ratios do not clearly favour one: their median lead is under ``tie_margin``, or under twice
    their spread. The winner is the most preferred of those tied with the fastest.
    """
    medians = {name: median(times) for name, times in rounds.items()}
    order = tuple(sorted(medians, key=lambda name: (medians[name], name)))
    fastest = order[0]
    tied = tuple(name for name in order if name == fastest or _ties(rounds[fastest], rounds[name], tie_margin))
    rank = {name: place for place, name in enumerate(preference)}
    winner = min(tied, key=lambda name: (rank.get(name, len(rank)), name))
    behind = [name for name in order if name not in tied]
    margin = medians[behind[0]] / medians[winner] - 1 if behind else None
    return Verdict(order, tied, winner, margin)


def _ties(first: Sequence[float], other: Sequence[float], tie_margin: float) -> bool:
    leads = [theirs / ours - 1 for ours, theirs in zip(first, other, strict=False)]
    spread = (quantile(leads, 0.75) - quantile(leads, 0.25)) / 2
    return median(leads) < max(tie_margin, TIE_SPREADS * spread)
