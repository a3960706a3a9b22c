"""From a session's report to what became of each candidate: one way for sessions here, on workers, and told results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from warpwright.lowering.measure.result import Measured, Rounds
from warpwright.solver.domain import Failure, HardwareProfile, Outcome
from warpwright.tuning.errors import code_of
from warpwright.tuning.measure.proof import KnownBuild, unproven, unproven_rounds
from warpwright.tuning.measure.session import MeasureReport
from warpwright.tuning.toolchain import Contestant, Measurement, StepFailed

__all__ = ["known_builds", "outcome_of", "outcomes_of"]

UNPROVEN = "measurement-unproven"
_UNFIT = {
    "contended": Outcome.CONTENDED,
    "yardstick": Outcome.REFERENCE_FAILED,
    "implausible": Outcome.WRONG_RESULT,
}


def known_builds(candidates: Sequence[Contestant], profile: HardwareProfile) -> dict[str, KnownBuild]:
    """What is known of a session's candidates before it."""
    return {
        each.candidate.id: KnownBuild(str(each.candidate.report.get("binary_digest", "")), profile, each.floor_ns)
        for each in candidates
    }


def outcome_of(measured: Measured, build: KnownBuild) -> Measurement | StepFailed:
    """What a candidate's own result says, before any rounds."""
    record: dict[str, Any] = {
        "protocol": measured.protocol,
        "flags": list(measured.flags),
        "device": asdict(measured.device) if measured.device else None,
        "before": asdict(measured.before) if measured.before else None,
        "after": asdict(measured.after) if measured.after else None,
        "checks": [asdict(check) for check in measured.checks],
        "binary_digest": measured.binary_digest,
        "waves": measured.waves,
        "seconds": measured.seconds,
        **(asdict(measured.summary) if measured.summary else {}),
    }
    if measured.outcome.kind is Outcome.MEASURED and measured.summary is not None:
        if gap := unproven(measured, build):
            return StepFailed(Outcome.INFRASTRUCTURE, Failure(UNPROVEN, gap), report=record)
        if measured.eligible:
            return Measurement(measured.summary.median_ns, record)
        # Neighbours excuse a time, and a candidate without a reference was not checked: neither is the candidate's fault.
        flag = next((each for each in ("contended", "yardstick", "implausible") if each in measured.flags), "contended")
        outcome = _UNFIT[flag]
        why = flag if flag != "contended" else f"another process was using the device{_neighbours(measured)}"
        failure = Failure(code_of(outcome, [flag]), f"timed at {measured.summary.median_ns:.0f} ns, but {why}")
        return StepFailed(outcome, failure, report=record)
    outcome = measured.outcome.kind
    failure = Failure(code_of(outcome, measured.outcome.details), measured.outcome.message)
    return StepFailed(outcome, failure, report=record)


def outcomes_of(report: MeasureReport, builds: Mapping[str, KnownBuild]) -> dict[str, Measurement | StepFailed]:
    """What a finished session says of each candidate: the finalists by their interleaved rounds, the others by their own."""
    found = {measured.candidate: outcome_of(measured, builds[measured.candidate]) for measured in report.results}
    return {**found, **dict(_finals(report, found, builds))}


def _finals(
    report: MeasureReport, found: Mapping[str, Measurement | StepFailed], builds: Mapping[str, KnownBuild]
) -> Iterator[tuple[str, Measurement | StepFailed]]:
    rounds = _decisive(report)
    if rounds is None or unproven_rounds(rounds, builds):
        return
    for candidate, figures in rounds.figures_ns.items():
        alone = found.get(candidate)
        if (wrong := (rounds.wrong or {}).get(candidate)) is not None:
            yield candidate, StepFailed(Outcome.WRONG_RESULT, Failure("after-rounds", wrong))
        elif isinstance(alone, Measurement):
            record = {**alone.record, "rounds_ns": list(figures), "session": report.session}
            yield candidate, Measurement(median(figures), record)


def _decisive(report: MeasureReport) -> Rounds | None:
    """The interleaved rounds that decide; None where each one's own time is all there is."""
    return report.rounds if report.rounds is not None and not report.rounds.contended else None


def _neighbours(measured: Measured) -> str:
    """Which processes they were, as far as the driver knows."""
    seen = [conditions.foreign for conditions in (measured.before, measured.after) if conditions is not None]
    names = sorted({name for each in seen for name in each})
    return f": {', '.join(names)}" if names else ""
