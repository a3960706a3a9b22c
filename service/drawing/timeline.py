"""The schedule in time, as one SVG: a lane for each role, unit and barrier; hover gives the cycles."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Lane", "Span", "timeline_svg"]

LABEL_WIDTH = 150
LANE_HEIGHT = 26
LANE_GAP = 6
AXIS_HEIGHT = 26
PLOT_WIDTH = 1400
MINIMUM_TEXT_WIDTH = 34
CHARACTER_WIDTH = 6.2


@dataclass(frozen=True, slots=True)
class Span:
    """Something that lasts: ``kind`` picks the colour class (``compute``, ``copy``, ``sync``, ``stall``, ``other``)."""

    start_cycle: int
    end_cycle: int
    label: str
    kind: str = "other"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the drawing."""

    name: str
    spans: tuple[Span, ...]


def timeline_svg(lanes: Sequence[Lane], *, title: str = "Timeline") -> str:
    """The drawing, empty when there is nothing to draw. Overlapping spans of a lane share its height."""
    spans = [span for lane in lanes for span in lane.spans]
    if not spans:
        return ""
    begin = min(span.start_cycle for span in spans)
    end = max(max(span.end_cycle for span in spans), begin + 1)
    scale = PLOT_WIDTH / (end - begin)
    rows = [_lane(lane, place, begin, scale) for place, lane in enumerate(lanes)]
    height = len(lanes) * (LANE_HEIGHT + LANE_GAP) + AXIS_HEIGHT
    return (
        f'<svg class="timeline" role="img" aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {LABEL_WIDTH + PLOT_WIDTH + 10} {height}">'
        + "".join(rows)
        + _axis(begin, end, scale, height)
        + "</svg>"
    )


def _lane(lane: Lane, place: int, begin: int, scale: float) -> str:
    top = place * (LANE_HEIGHT + LANE_GAP)
    parts = [
        f'<text class="lane" x="{LABEL_WIDTH - 8}" y="{top + LANE_HEIGHT * 0.68:.1f}" text-anchor="end">'
        f"{escape(lane.name)}</text>",
        f'<rect class="track" x="{LABEL_WIDTH}" y="{top}" width="{PLOT_WIDTH}" height="{LANE_HEIGHT}"/>',
    ]
    levels, depth = _levels(lane.spans)
    share = LANE_HEIGHT / depth
    for span, level in zip(lane.spans, levels, strict=True):
        x = LABEL_WIDTH + (span.start_cycle - begin) * scale
        width = max(0.8, (span.end_cycle - span.start_cycle) * scale)
        y = top + level * share
        hover = f"{span.label}: cycles {span.start_cycle} to {span.end_cycle} ({span.end_cycle - span.start_cycle})"
        if span.detail:
            hover += f"; {span.detail}"
        parts.append(
            f'<g class="span {_kind(span.kind)}"><title>{escape(hover)}</title>'
            f'<rect x="{x:.1f}" y="{y + 0.5:.1f}" width="{width:.1f}" height="{share - 1:.1f}" rx="2"/>'
        )
        room = int(width / CHARACTER_WIDTH) - 1
        if width >= MINIMUM_TEXT_WIDTH and share >= 12 and room > 2:
            text = span.label if len(span.label) <= room else span.label[: room - 1] + "…"
            parts.append(f'<text x="{x + 4:.1f}" y="{y + share * 0.68:.1f}">{escape(text)}</text>')
        parts.append("</g>")
    return "".join(parts)


def _levels(spans: Sequence[Span]) -> tuple[list[int], int]:
    """A row inside the lane for each span, so that none covers another; and how many rows there are."""
    free_at: list[int] = []
    levels = []
    for span in spans:
        level = next((row for row, free in enumerate(free_at) if free <= span.start_cycle), len(free_at))
        if level == len(free_at):
            free_at.append(0)
        free_at[level] = max(span.end_cycle, span.start_cycle + 1)
        levels.append(level)
    return levels, max(1, len(free_at))


def _axis(begin: int, end: int, scale: float, height: int) -> str:
    step = _step(end - begin)
    first = -(-begin // step) * step
    parts = []
    for cycle in range(first, end + 1, step):
        x = LABEL_WIDTH + (cycle - begin) * scale
        parts.append(
            f'<line class="tick" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height - AXIS_HEIGHT}"/>'
            f'<text class="axis" x="{x:.1f}" y="{height - 8}" text-anchor="middle">{cycle}</text>'
        )
    return "".join(parts)


def _step(cycles: int) -> int:
    """A round step that gives about ten ticks."""
    step = 1
    while cycles / step > 12:
        step *= 2 if str(step)[0] in "15" else 5
        if str(step)[0] == "2" and cycles / step > 12:
            step = step * 5 // 2
    return step


def _kind(kind: str) -> str:
    return kind if kind in ("compute", "copy", "sync", "stall") else "other"
