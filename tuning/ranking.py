"""Which candidate wins, and who ties with it: the one way from times to an answer, for every session, here, on workers and told.

Only a measured candidate is called the fastest; without a time the forecast orders what was built: a time, or cycles where the
cost model has no clock. Where nothing has a cost, nothing is ranked and nobody wins, unless only the compiler's own choices
are left: then its default stands. Neither noise nor an identity
decides: candidates that tie come in a fixed order, the compiler's own choices first (a schedule has to be better than what
needs none), then ours by forecast and structure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isclose

from warpwright.lowering.measure.protocol import GPU_1, PROTOCOLS
from warpwright.lowering.measure.statistics import Verdict, verdict, verdict_alone
from warpwright.solver.domain import BASELINES, Candidate, CandidateKind, Outcome
from warpwright.solver.domain.candidate_order import place_of
from warpwright.tuning.verdicts import refused_by_our_rules

__all__ = ["NOT_RANKED", "Ranking", "best_of", "fixed_order", "note_of", "ranked", "ranking_of"]

NOT_RANKED = "not ranked: no candidate has a forecast or a measured time"
_KIND_ORDER = {kind: place for place, kind in enumerate((*BASELINES, CandidateKind.SCHEDULED))}
_UNTIMED = (Outcome.COMPILED, Outcome.SOLVED)
"""Who may be the answer where nothing was measured, the first of them before the others."""
SAME_FORECAST = 1e-9
"""Relative difference of forecasts that comes from rounding."""


@dataclass(frozen=True)
class Ranking:
    """A job's usable candidates, best first.

    ``tied`` are ids of those of which none is better than another, the winner included; ``margin`` is the winner's relative lead
    over the first that does not tie, None if there is none.
    """

    order: tuple[Candidate, ...]
    tied: tuple[str, ...] = ()
    margin: float | None = None

    @cached_property
    def best(self) -> Candidate | None:
        """The winner, or None if no candidate is usable or nothing says which one is better."""
        first = next(iter(self.order), None)
        if first is None or first.has_cost:
            return first
        return None if any(r.kind is CandidateKind.SCHEDULED for r in self.order) else first

    @property
    def note(self) -> str:
        """What the answer is based on, as shown to users."""
        return NOT_RANKED if self.best is None and self.order else note_of(self.best)


def ranking_of(records: Sequence[Candidate]) -> Ranking:
    """The ranking of a job's candidates.

    Once something was measured, an unmeasured candidate never wins, whatever its forecast. What a rule refuses is not among
    them, however fast it was.
    """
    usable = fixed_order([r for r in records if not r.not_honoured and not refused_by_our_rules(r)])
    timed = [r for r in usable if r.outcome is Outcome.MEASURED and r.measured_ns is not None]
    untimed = [_by_forecast([r for r in usable if r.outcome is outcome]) for outcome in _UNTIMED]
    groups = [group for group in (_by_time(timed), *untimed) if group.order]
    if not groups:
        return Ranking(())
    order = tuple(record for group in groups for record in group.order)
    return Ranking(order, groups[0].tied, groups[0].margin)


def ranked(records: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Usable candidates, best first."""
    return ranking_of(records).order


def best_of(records: Sequence[Candidate]) -> Candidate | None:
    """The winner, or None if no candidate is usable."""
    return ranking_of(records).best


def fixed_order(records: Sequence[Candidate]) -> list[Candidate]:
    """Candidates in the order in which they win ties: by who chose the schedule, by forecast, and by what they are."""
    return sorted(records, key=lambda record: (_KIND_ORDER[record.kind], *place_of(record)))


def _by_time(timed: Sequence[Candidate]) -> Ranking:
    """Measured candidates, given in the fixed order.

    Times of two sessions do not compare: the last session with interleaved rounds decides among those that took part in
    them. Whoever was measured otherwise was slower than one of these in its own session.
    """
    if not timed:
        return Ranking(())
    times = {record.id: record.measured_ns or 0.0 for record in timed}
    decided = _verdict(timed)
    places = {name: place for place, name in enumerate([decided.winner, *decided.order])}

    def place(record: Candidate) -> tuple[bool, int, float]:
        return record.id not in places, places.get(record.id, 0), times[record.id]

    places[decided.winner] = 0
    order = sorted(timed, key=place)
    return Ranking(tuple(order), decided.tied, decided.margin)


def _verdict(timed: Sequence[Candidate]) -> Verdict:
    preference = [record.id for record in timed]
    baselines = [record.id for record in timed if record.kind is not CandidateKind.SCHEDULED]
    protocol = PROTOCOLS.get(str(timed[0].measurement.get("protocol")), GPU_1)
    rounds = {record.id: figures for record in timed if (figures := _rounds(record))}
    if rounds:
        last = max(_session(record) for record in timed if record.id in rounds)
        final = {record.id: rounds[record.id] for record in timed if record.id in rounds and _session(record) == last}
        return verdict(final, protocol.tie_margin, preference, baselines)
    medians = {record.id: record.measured_ns or 0.0 for record in timed}
    spreads = {record.id: _number(record.measurement.get("spread_ns")) for record in timed}
    return verdict_alone(medians, spreads, protocol.tie_margin, preference, baselines)


def _by_forecast(records: Sequence[Candidate]) -> Ranking:
    """Candidates without a time, given in the fixed order; equal forecasts tie."""
    order = sorted(records, key=lambda record: record.forecast if record.forecast is not None else inf)
    if not order or order[0].forecast is None:
        return Ranking(tuple(order))
    first = order[0].forecast
    tied = [r for r in order if r.forecast is not None and isclose(r.forecast, first, rel_tol=SAME_FORECAST)]
    order = [*fixed_order(tied), *order[len(tied) :]]
    behind = order[len(tied)].forecast if len(order) > len(tied) else None
    return Ranking(
        tuple(order), tuple(r.id for r in order[: len(tied)]), behind / first - 1 if behind and first else None
    )


def _rounds(record: Candidate) -> tuple[float, ...]:
    """Times of the interleaved rounds that it took part in, one a round."""
    found = record.measurement.get("rounds_ns")
    return tuple(map(_number, found)) if isinstance(found, list | tuple) else ()


def _session(record: Candidate) -> str:
    """The session of its rounds; later ones compare greater."""
    return str(record.measurement.get("session", ""))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


LOWERED_SOURCES = ("ascend_source", "cuda_source")
"""Products that show that a candidate was lowered although no compiler for the target was available."""


def note_of(best: Candidate | None) -> str:
    """What the answer is based on, as shown to users."""
    if best is None:
        return "nothing usable"
    if best.outcome is Outcome.MEASURED:
        return "measured"
    if best.outcome is Outcome.COMPILED:
        return "compiled, not measured"
    lowered = any(name in best.products for name in LOWERED_SOURCES)
    return "lowered, not compiled, not measured" if lowered else "solved, not compiled"
