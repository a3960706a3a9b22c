"""Speed of light: the winner, the compiler's choices and vendor libraries against the device's roofs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from warpwright.service.db.models import CandidateRow
from warpwright.service.drawing import RooflinePoint, roofline_svg
from warpwright.solver.domain import CandidateKind
from warpwright.tuning.roofline import Roofline, clock_of, roofline_in

__all__ = ["SpeedOfLight", "SpeedRow", "speed_of_light"]


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """One time: rates and shares of the peaks, those of the maker and that at the clock of the measurement."""

    name: str
    nanoseconds: float
    tflops: float
    of_peak: float
    clock_mhz: float | None
    of_peak_at_clock: float | None
    gb_per_second: float
    of_bandwidth: float


@dataclass(frozen=True, slots=True)
class SpeedOfLight:
    """The drawing and its numbers as a table."""

    svg: Markup
    rows: tuple[SpeedRow, ...]
    line: Roofline


def speed_of_light(
    winner: CandidateRow | None, baselines: Sequence[CandidateRow], libraries: Mapping[str, float]
) -> SpeedOfLight | None:
    """None where nothing was measured, or a build recorded no work. Libraries did the winner's work, at a clock nobody noted."""
    if winner is None or not winner.measured_ns:
        return None
    line = roofline_in(winner.report)
    if line is None or not (line.flops and line.global_bytes and line.peak_tflops and line.bandwidth_gb_per_second):
        return None
    fastest: dict[str, CandidateRow] = {}
    together = "rounds_ns" in winner.measurement  # times of other sessions, and of no rounds, do not compare
    for row in sorted(baselines, key=lambda row: row.measured_ns or 0.0):
        if row.measured_ns and row.key != winner.key and (not together or "rounds_ns" in row.measurement):
            fastest.setdefault(row.kind, row)
    shown = [
        (_name(row), _kind(row), row.measured_ns or 0.0, roofline_in(row.report), clock_of(row.measurement))
        for row in (winner, *fastest.values())
    ]
    shown += [(name, "vendor", time, line, None) for name, time in libraries.items() if time]
    rows, points = [], []
    for name, kind, time, found, clock in shown:
        work = found or line
        rows.append(_row(name, time, work, clock))
        points.append(
            RooflinePoint(name, kind, work.flops / work.global_bytes, work.flops / time / 1e3, name == shown[0][0])
        )
    return SpeedOfLight(Markup(roofline_svg(line, points, clock_of(winner.measurement))), tuple(rows), line)


def _row(name: str, time: float, line: Roofline, clock: float | None) -> SpeedRow:
    tflops, speed = line.flops / time / 1e3, line.global_bytes / time
    share = tflops / line.peak_tflops
    at_clock = share * line.clock_mhz / clock if clock and line.clock_mhz else None
    return SpeedRow(name, time, tflops, share, clock, at_clock, speed, speed / line.bandwidth_gb_per_second)


def _name(row: CandidateRow) -> str:
    words = row.kind.replace("_", " ")
    return f"{words} {row.number}" if row.kind == CandidateKind.SCHEDULED else f"compiler's {words}"


def _kind(row: CandidateRow) -> str:
    return "scheduled" if row.kind == CandidateKind.SCHEDULED else "compiler"
