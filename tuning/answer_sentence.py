"""The answer of a tuning in one sentence. The only place that words it: pages, reports, terminal, ``repr`` and JSON show it.

Each part says what is known, or that it is not: how much was gained and how sure that is, the share of the device's peak, a
vendor library, ties, how it was measured, and whether it was checked at another size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from warpwright.lowering.frontend.author_settings import not_followed
from warpwright.solver.domain import Candidate, CandidateKind, Failure
from warpwright.tuning.partial_reasons import words_of
from warpwright.tuning.result import Ending
from warpwright.tuning.roofline import Roofline, clock_of, roofline_in
from warpwright.tuning.size_checks import RIGHT, size_entries

__all__ = ["AnswerPart", "AnswerSentence", "Answered", "answer_sentence", "half_width"]

SURE = 0.95
"""Confidence of the interval around a gain."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One part of the sentence; ``known`` is False where the text says that something is missing."""

    name: str
    text: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """The parts in order. ``speedup``: time of the compiler's best over the winner's; None unless both were measured."""

    parts: tuple[AnswerPart, ...]
    speedup: float | None = None

    @property
    def text(self) -> str:
        """The sentence; what belongs to the time is joined by commas."""
        return "".join(part.text + behind for part, behind in self.spoken)

    @property
    def spoken(self) -> tuple[tuple[AnswerPart, str], ...]:
        """The parts in the order of the sentence, each with the characters behind it."""
        together = [part for part in self.parts if part.name in _OF_THE_TIME]
        rest = [part for part in self.parts if part.name not in _OF_THE_TIME]
        behind = [", "] * (len(together) - 1) + ["; "] * (len(rest) + bool(together) - 1) + [""]
        return tuple(zip([*together, *rest], behind, strict=False))


_OF_THE_TIME = ("gain", "throughput", "library")


@dataclass(frozen=True, slots=True)
class Answered:
    """What is known of a job's answer.

    ``baseline`` is the best of the compiler's own choices, ``tied`` how many others are as good as the winner, ``margin`` the
    winner's relative lead over the next that is not, ``libraries`` nanoseconds of vendor libraries in the same session, by name.
    ``families`` are the rule families that exclude everything, for an infeasible kernel.
    """

    ending: str
    winner: Candidate | None
    baseline: Candidate | None = None
    tied: int = 0
    margin: float | None = None
    partial: bool = False
    stopped_by: str = ""
    failure: Failure | None = None
    families: Sequence[str] = ()
    libraries: Mapping[str, float] | None = None


def answer_sentence(answered: Answered) -> AnswerSentence:
    """The sentence about an answer; without a winner, why there is none."""
    winner, parts = answered.winner, _exceptions(answered)
    if winner is None:
        decided = any(part.name == "ending" for part in parts)
        missing = [] if decided else [AnswerPart("gain", "no answer: nothing usable was found", known=False)]
        return AnswerSentence((*missing, *parts))
    gain = _gain(winner, answered.baseline)
    speedup = gain if winner.measured_ns is not None else None
    parts += [_gain_part(winner, answered.baseline, gain)]
    if winner.measured_ns is not None:
        parts += [_throughput(winner), _library(winner.measured_ns, answered.libraries or {})]
    parts += [_ties(answered), _conditions(winner), *_settings(winner)]
    if winner.measured_ns is not None:
        parts.append(_sizes(winner))
    return AnswerSentence(tuple(parts), speedup)


def _exceptions(answered: Answered) -> list[AnswerPart]:
    """What has to be said before any number: that there is a proof against it, that it failed, or that it was cut short."""
    found = []
    if answered.failure is not None and answered.winner is None:
        found.append(AnswerPart("ending", f"no answer: {answered.failure.message}", known=False))
    elif answered.ending == Ending.INFEASIBLE:
        why = f" ({', '.join(family.replace('_', ' ') for family in answered.families)})" if answered.families else ""
        found.append(AnswerPart("ending", f"proven impossible: no legal schedule exists here{why}"))
    elif answered.ending == Ending.UNKNOWN:
        found.append(AnswerPart("ending", "not decided: the budget ended before any schedule was found", known=False))
    elif answered.ending == Ending.NOT_APPLICABLE:
        found.append(AnswerPart("ending", "no kind of schedule can express this kernel"))
    if answered.partial:
        found.append(AnswerPart("partial", f"partial: {words_of(answered.stopped_by)}", known=False))
    return found


def _gain(winner: Candidate, baseline: Candidate | None) -> float | None:
    """Measured with measured, forecast with forecast, never mixed."""
    if baseline is None:
        return None
    times = [each.measured_ns if winner.measured_ns is not None else each.forecast for each in (baseline, winner)]
    return times[0] / times[1] if times[0] and times[1] else None


def _settings(winner: Candidate) -> list[AnswerPart]:
    """What the winner's build does not follow of what the kernel's author asked of the compiler."""
    told = winner.report.get("settings_ignored")
    ignored = [str(name) for name in told] if isinstance(told, list | tuple) else []
    return [AnswerPart("settings", not_followed(ignored))] if ignored else []


def _gain_part(winner: Candidate, baseline: Candidate | None, gain: float | None) -> AnswerPart:
    if not winner.has_cost:
        return AnswerPart("gain", "not ranked: nothing was measured, and there is no forecast", known=False)
    if winner.kind is not CandidateKind.SCHEDULED:
        kind = winner.kind.value.replace("_", "-")
        word = "found" if winner.measured_ns is not None else "forecast"
        return AnswerPart("gain", f"the compiler's own choice ({kind}) stands, nothing faster was {word}")
    if gain is None:
        return AnswerPart("gain", "gain over the compiler's best not known: its own choices have no time", known=False)
    text = f"{gain:.3f}× over the compiler's best"
    if winner.measured_ns is None:
        return AnswerPart("gain", f"{text} by forecast, not measured", known=False)
    return AnswerPart("gain", f"{text} ({_sure(winner, baseline)})")


def _sure(winner: Candidate, baseline: Candidate | None) -> str:
    ours = _rounds(winner)
    ratios = [theirs / own for theirs, own in zip(_rounds(baseline), ours, strict=False) if own]
    if baseline is None or not ratios or _session(winner) != _session(baseline):
        return "measured one after the other, no rounds"
    width = half_width(ratios)
    if width is None:
        return f"{len(ratios)} round{'s' if len(ratios) > 1 else ''}, too few for an interval"
    return f"±{100 * width:.1f} %, {len(ratios)} rounds"


def half_width(ratios: Sequence[float]) -> float | None:
    """Half of the 95 % interval of the ratios' median, relative to it. None for fewer than six: no interval is that sure.

    From order statistics: the k-th smallest and k-th largest of n enclose the median unless a fair coin falls the same way in
    fewer than k of n throws. No distribution is assumed.
    """
    ordered, n = sorted(ratios), len(ratios)
    missed, k = 0.0, 0
    while 1 - 2 * (missed + comb(n, k) / 2**n) >= SURE and k < n // 2:
        missed += comb(n, k) / 2**n
        k += 1
    return (ordered[n - k] - ordered[k - 1]) / 2 / median(ordered) if k else None


def _throughput(winner: Candidate) -> AnswerPart:
    line, time = roofline_in(winner.report), winner.measured_ns or 0.0
    if line is None or not time:
        return AnswerPart("throughput", "throughput not known: its build recorded no work", known=False)
    shares = _shares(line, time)
    if not shares:
        return AnswerPart(
            "throughput", "throughput not known: the kernel's work or the device's rates are not", known=False
        )
    return AnswerPart("throughput", max(shares)[1])


def _shares(line: Roofline, time: float) -> list[tuple[float, str]]:
    """Shares of the peak rates with their words; the larger one is what limits."""
    found = []
    if line.flops and line.peak_tflops:
        rate = line.flops / time / 1e3
        share = rate / line.peak_tflops
        found.append(
            (share, f"{rate:,.0f} TFLOP/s = {share:.0%} of the device's {line.operands} peak".replace("%", " %"))
        )
    if line.global_bytes and line.bandwidth_gb_per_second:
        speed = line.global_bytes / time
        share = speed / line.bandwidth_gb_per_second
        found.append((share, f"{speed:,.0f} GB/s = {share:.0%} of the device's memory peak".replace("%", " %")))
    return found


def _library(time: float, libraries: Mapping[str, float]) -> AnswerPart:
    if not libraries:
        return AnswerPart("library", "not compared with a vendor library", known=False)
    words = ", ".join(f"{taken / time:.2f}× of {name}" for name, taken in libraries.items())
    return AnswerPart("library", words)


def _ties(answered: Answered) -> AnswerPart:
    if answered.tied:
        return AnswerPart("ties", f"ties with {answered.tied}")
    if answered.margin is None:
        return AnswerPart("ties", "nothing else to compare with")
    return AnswerPart("ties", f"ties with none, {100 * answered.margin:.1f} % ahead of the next")


def _conditions(winner: Candidate) -> AnswerPart:
    if winner.measured_ns is None:
        return AnswerPart("conditions", "nothing was measured", known=False)
    device = winner.measurement.get("device")
    driver = str(device.get("driver") or "") if isinstance(device, Mapping) else ""
    after, mhz = winner.measurement.get("after"), clock_of(winner.measurement)
    if not isinstance(after, Mapping) or mhz is None:
        how = "measured at a clock that was not recorded"
    else:
        clock = f"{mhz:,.0f} MHz"
        slowed = [str(each) for each in after.get("throttle") or ()]
        limits = "the power limit" if slowed == ["power_cap"] else ", ".join(each.replace("_", " ") for each in slowed)
        how = f"measured at {limits} ({clock})" if slowed else f"measured at {clock}"
    return AnswerPart("conditions", f"{how}, {f'driver {driver}' if driver else 'driver not recorded'}")


def _sizes(winner: Candidate) -> AnswerPart:
    right = [str(entry["name"]) for entry in size_entries(winner) if entry["outcome"] == RIGHT]
    if not right:
        return AnswerPart("sizes", "not checked at another size", known=False)
    return AnswerPart("sizes", f"also right at {', '.join(right)}")


def _rounds(candidate: Candidate | None) -> list[float]:
    found = candidate.measurement.get("rounds_ns") if candidate is not None else None
    return [float(each) for each in found if isinstance(each, int | float)] if isinstance(found, list | tuple) else []


def _session(candidate: Candidate) -> str:
    return str(candidate.measurement.get("session", ""))
