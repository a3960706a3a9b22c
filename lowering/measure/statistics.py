"""Statistics of times, as pure functions. Nanoseconds in, nanoseconds out; nothing here knows a device."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Summary", "Verdict", "finalists", "quantile", "summary", "verdict", "verdict_alone"]

TIE_SPREADS = 2.0
"""A lead of fewer of its own spreads does not count: with it, five equal candidates with 5 % noise tied in each of
twenty jobs.
"""

TIE_SHARE = 1 / 3
"""A candidate that beats the fastest in at least this share of the rounds ties with it."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a list of times. ``spread_ns`` is half the interquartile range: robust, and 0 for one sample."""

    count: int
    median_ns: float
    spread_ns: float
    minimum_ns: float
    p10_ns: float
    p90_ns: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of interleaved rounds: the order by figure, the ties with the first, the winner by a fixed rule, its margin.

    A figure is the median, over the rounds, of a time relative to its round's geometric mean. ``margin`` is the relative lead
    over the fastest that does not tie, None if all tie.
    """

    order: tuple[str, ...]
    tied: tuple[str, ...]
    winner: str
    margin: float | None


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile by linear interpolation; ``ValueError`` for no values."""
    return _quantiles(values, q)[0]


def summary(times: Sequence[float]) -> Summary:
    """Summary of at least one time."""
    tenth, quarter, three_quarters, nine_tenths = _quantiles(times, 0.1, 0.25, 0.75, 0.9)
    return Summary(
        count=len(times),
        median_ns=float(median(times)),
        spread_ns=(three_quarters - quarter) / 2,
        minimum_ns=float(min(times)),
        p10_ns=tenth,
        p90_ns=nine_tenths,
    )


def finalists(medians: Mapping[str, float], margin: float, maximum: int) -> tuple[str, ...]:
    """The fastest and all at most ``margin`` (relative) slower, fastest first, at most ``maximum``; ties by name."""
    if not medians:
        return ()
    ordered = sorted(medians, key=lambda name: (medians[name], name))
    limit = medians[ordered[0]] * (1 + margin)
    return tuple(name for name in ordered if medians[name] <= limit)[:maximum]


def verdict(
    rounds: Mapping[str, Sequence[float]],
    tie_margin: float,
    preference: Sequence[str] = (),
    baselines: Collection[str] = (),
) -> Verdict:
    """Compares interleaved rounds round by round, so that drift common to all cancels.

    Args:
        rounds: one figure per round for each name, in the same order of rounds.
        tie_margin: relative difference that does not count.
        preference: who wins a tie, first named first: an order of all keeps noise from deciding; the fastest if none of
        them ties.
        baselines: what is as good as one of these is not preferred to it: who ties with a baseline does not win.

    Two tie when the faster one's median lead is under ``tie_margin`` or under twice the lead's own spread, or when the
    slower one was the faster one in a third of the rounds.
    """
    figures = _relative(rounds)
    order = tuple(sorted(figures, key=lambda name: (figures[name], name)))
    fastest = order[0]
    tied = tuple(name for name in order if name == fastest or _ties(rounds[fastest], rounds[name], tie_margin))
    return _decided(figures, order, tied, preference, baselines)


def verdict_alone(
    medians: Mapping[str, float],
    spreads: Mapping[str, float],
    tie_margin: float,
    preference: Sequence[str] = (),
    baselines: Collection[str] = (),
) -> Verdict:
    """As :func:`verdict`, of times that were taken one candidate after another, where there were no rounds.

    Two tie when their medians differ by less than ``tie_margin`` or than twice the larger spread.
    """
    order = tuple(sorted(medians, key=lambda name: (medians[name], name)))
    fastest = order[0]

    def ties(name: str) -> bool:
        spread = max(spreads.get(fastest, 0.0), spreads.get(name, 0.0))
        return medians[name] - medians[fastest] < max(tie_margin * medians[fastest], TIE_SPREADS * spread)

    tied = tuple(name for name in order if name == fastest or ties(name))
    return _decided(medians, order, tied, preference, baselines)


def _decided(
    figures: Mapping[str, float],
    order: tuple[str, ...],
    tied: tuple[str, ...],
    preference: Sequence[str],
    baselines: Collection[str],
) -> Verdict:
    able = [name for name in tied if name in baselines] or list(tied)
    winner = next((name for name in preference if name in able), able[0])
    behind = [name for name in order if name not in tied]
    margin = figures[behind[0]] / figures[winner] - 1 if behind else None
    return Verdict(order, tied, winner, margin)


def _relative(rounds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Median of each name's times, each over the geometric mean of its round."""
    count = min(len(times) for times in rounds.values())
    means = [math.exp(sum(math.log(times[i]) for times in rounds.values()) / len(rounds)) for i in range(count)]
    return {name: median([times[i] / means[i] for i in range(count)]) for name, times in rounds.items()}


def _ties(first: Sequence[float], other: Sequence[float], tie_margin: float) -> bool:
    ratios = [theirs / ours for ours, theirs in zip(first, other, strict=False)]
    won = sum(ratio <= 1 for ratio in ratios)
    quarter, three_quarters = _quantiles(ratios, 0.25, 0.75)
    spread = (three_quarters - quarter) / 2
    return median(ratios) - 1 < max(tie_margin, TIE_SPREADS * spread) or won >= TIE_SHARE * len(ratios)


def _quantiles(values: Sequence[float], *shares: float) -> list[float]:
    """numpy's, because rounding in the standard library's can leave the range of equal values."""
    if not values:
        raise ValueError("no values")
    import numpy  # only for measuring; results can be read without it

    return [float(found) for found in numpy.quantile(values, shares)]
