"""Which candidate wins. Only a measured one is called the fastest; without a device the forecast orders what was built."""

from collections.abc import Sequence

from warpwright.solver.domain import Candidate, CandidateKind, Outcome

__all__ = ["best_of", "note_of", "ranked", "tied_with_best"]

_KIND_ORDER = {kind: place for place, kind in enumerate(CandidateKind)}
_CLASS_ORDER = {Outcome.MEASURED: 0, Outcome.COMPILED: 1, Outcome.SOLVED: 2}


def _key(record: Candidate) -> tuple[float, float, int, str]:
    time = record.measured_ns if record.outcome is Outcome.MEASURED else record.forecast_ns
    return (
        _CLASS_ORDER.get(record.outcome, 9),
        time if time is not None else float("inf"),
        _KIND_ORDER[record.kind],
        record.id,
    )


def ranked(records: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Usable candidates, best first: measured by time, then built by forecast, then solved by forecast.

    Ties are broken by kind and id, so that every run over equal times names the same winner.
    """
    return tuple(sorted((r for r in records if r.outcome in _CLASS_ORDER and not r.not_honoured), key=_key))


def best_of(records: Sequence[Candidate]) -> Candidate | None:
    """The winner, or None if no candidate is usable.

    Once something was measured, an unmeasured candidate never wins, whatever its forecast.
    """
    usable = ranked(records)
    return usable[0] if usable else None


def tied_with_best(records: Sequence[Candidate]) -> tuple[str, ...]:
    """Ids of measured candidates whose time lies within the winner's own spread of it, the winner included.

    The spread is ``measurement["spread_ns"]`` where the protocol reported one, else nothing ties.
    """
    best = best_of(records)
    if best is None or best.measured_ns is None:
        return ()
    spread = best.measurement.get("spread_ns")
    margin = float(spread) if isinstance(spread, int | float) else 0.0
    return tuple(
        r.id
        for r in ranked(records)
        if r.outcome is Outcome.MEASURED and r.measured_ns is not None and r.measured_ns <= best.measured_ns + margin
    )


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
