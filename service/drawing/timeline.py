"""The schedule in time, as one SVG: lanes in groups, the phases of the loop above them; hovering shows the cycles.

It can be read without scripts. With scripts, ``static/timeline.js`` fits it to its box and adds zoom and a cursor; it finds
its data in the ``data-`` attributes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Timeline", "TimelineLane", "TimelinePhase", "TimelineSpan", "timeline_svg"]

LABEL_WIDTH = 170
LANE_HEIGHT = 24
LANE_GAP = 5
GROUP_HEIGHT = 20
PHASE_HEIGHT = 24
AXIS_HEIGHT = 26
PLOT_WIDTH = 1100
MINIMUM_TEXT_WIDTH = 34
CHARACTER_WIDTH = 6.2
KINDS = ("compute", "copy", "sync", "stall", "queued", "draining", "ahead", "flight")
"""Executing (compute or copying), synchronising, a wait that costs; started and not executing yet, executed and not finished yet;
waits that cost nothing: a role that is ahead, and one whose own product is in flight."""


@dataclass(frozen=True, slots=True)
class TimelineSpan:
    """A time span: ``kind`` chooses the colour class (one of ``KINDS``, else ``other``); ``share`` of the lane's height."""

    start_cycle: int
    end_cycle: int
    label: str
    kind: str = "other"
    detail: str = ""
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class TimelineLane:
    """One row of the drawing; lanes of one ``group`` are shown together under its name."""

    name: str
    spans: tuple[TimelineSpan, ...]
    group: str = ""


@dataclass(frozen=True, slots=True)
class TimelinePhase:
    """A part of the loop: ``prologue``, ``steady state``, ``epilogue``."""

    name: str
    start_cycle: int
    end_cycle: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """One drawing: of a block's first iterations, or of one loop."""

    lanes: tuple[TimelineLane, ...]
    phases: tuple[TimelinePhase, ...] = ()
    title: str = "Timeline"
    view: tuple[int, int] | None = None
    """The cycles that are shown first; all of them without."""

    @property
    def end_cycle(self) -> int:
        """The end of the last span."""
        return max((span.end_cycle for lane in self.lanes for span in lane.spans), default=0)


def timeline_svg(timeline: Timeline, *, until: int = 0) -> str:
    """The drawing, empty if there is nothing to draw. Overlapping spans of a lane share its height.

    ``until`` extends the axis to this cycle, so that two drawings have the same scale.
    """
    spans = [span for lane in timeline.lanes for span in lane.spans]
    if not spans:
        return ""
    begin = min(span.start_cycle for span in spans)
    end = max(timeline.end_cycle, until, begin + 1)
    scale = PLOT_WIDTH / (end - begin)
    names, plot, y = [], [], float(PHASE_HEIGHT if timeline.phases else 0)
    top, group = y, ""
    for lane in timeline.lanes:
        if lane.group != group:
            group = lane.group
            names.append(f'<text class="group" x="4" y="{y + GROUP_HEIGHT * 0.7:.1f}">{escape(group)}</text>')
            y += GROUP_HEIGHT
        names.append(_name(lane.name, y))
        plot.append(_lane(lane, y, begin, scale))
        y += LANE_HEIGHT + LANE_GAP
    height = y + AXIS_HEIGHT
    drawn = [
        _axis(begin, end, scale, top, y),
        *plot,
        *(_phase(phase, begin, end, scale, y) for phase in timeline.phases),
    ]
    return (
        f'<svg class="timeline" role="img" aria-label="{escape(timeline.title)}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {LABEL_WIDTH + PLOT_WIDTH} {height:.0f}" data-begin="{begin}" data-end="{end}" '
        f'{_view(timeline)}data-label="{LABEL_WIDTH}" data-height="{height:.0f}" data-top="{top:.0f}" data-bottom="{y:.0f}">'
        f'{"".join(names)}<svg class="plot" x="{LABEL_WIDTH}" y="0" width="{PLOT_WIDTH}" height="{height:.0f}">'
        f"{''.join(drawn)}</svg></svg>"
    )


def _view(timeline: Timeline) -> str:
    return "" if timeline.view is None else f'data-first="{timeline.view[0]}" data-last="{timeline.view[1]}" '


def _name(name: str, y: float) -> str:
    room = int((LABEL_WIDTH - 12) / CHARACTER_WIDTH)
    text = name if len(name) <= room else name[: room - 1] + "…"
    return (
        f'<text class="lane" x="{LABEL_WIDTH - 8}" y="{y + LANE_HEIGHT * 0.68:.1f}" text-anchor="end">'
        f"<title>{escape(name)}</title>{escape(text)}</text>"
    )


def _lane(lane: TimelineLane, top: float, begin: int, scale: float) -> str:
    parts = [
        f'<g class="row" data-name="{escape(lane.name)}">'
        f'<rect class="track" x="0" y="{top:.1f}" width="100%" height="{LANE_HEIGHT}"/>'
    ]
    levels, depth = _levels(lane.spans)
    height = LANE_HEIGHT / depth
    for span, level in zip(lane.spans, levels, strict=True):
        x = (span.start_cycle - begin) * scale
        width = max(0.8, (span.end_cycle - span.start_cycle) * scale)
        full = height - 1
        tall = max(0.0, min(1.0, span.share)) * full
        y = top + level * height + 0.5 + full - tall
        corners = ' rx="2"' if span.share >= 1.0 else ""
        hover = f"{span.label}: cycles {span.start_cycle} to {span.end_cycle} ({span.end_cycle - span.start_cycle})"
        if span.detail:
            hover += f"; {span.detail}"
        parts.append(
            f'<g class="span {_kind(span.kind)}" data-s="{span.start_cycle}" data-e="{span.end_cycle}">'
            f"<title>{escape(hover)}</title>"
            f'<rect x="{x:.1f}" y="{y:.2f}" width="{width:.1f}" height="{tall:.2f}"{corners}/>'
        )
        if tall >= 0.75 * LANE_HEIGHT or (span.share >= 1.0 and tall >= 11):
            room = int(width / CHARACTER_WIDTH) - 1
            fits = width >= MINIMUM_TEXT_WIDTH and room > 2
            text = (span.label if len(span.label) <= room else span.label[: room - 1] + "…") if fits else ""
            place = f'x="{x + 4:.1f}" y="{top + level * height + height * 0.68:.1f}"'
            parts.append(f'<text {place} data-text="{escape(span.label)}">{escape(text)}</text>')
        parts.append("</g>")
    parts.append("</g>")
    return "".join(parts)


def _levels(spans: Sequence[TimelineSpan]) -> tuple[list[int], int]:
    """A row inside the lane for each span, so that none covers another, and the number of rows.

    A span of less than a cycle covers nothing.
    """
    free_at: list[int] = []
    levels = []
    for span in spans:
        level = next((row for row, free in enumerate(free_at) if free <= span.start_cycle), len(free_at))
        if level == len(free_at):
            free_at.append(0)
        free_at[level] = span.end_cycle
        levels.append(level)
    return levels, max(1, len(free_at))


def _phase(phase: TimelinePhase, begin: int, end: int, scale: float, bottom: float) -> str:
    first, last = max(begin, phase.start_cycle), min(end, phase.end_cycle)
    if last <= first:
        return ""
    x, width = (first - begin) * scale, (last - first) * scale
    steady = " steady" if phase.name.startswith("steady") else ""
    hover = f"{phase.name}: cycles {phase.start_cycle} to {phase.end_cycle}"
    room = int(width / CHARACTER_WIDTH) - 1
    text = phase.name if room >= len(phase.name) else ""
    return (
        f'<g class="phase{steady}" data-s="{first}" data-e="{last}"><title>{escape(hover)}</title>'
        f'<rect x="{x:.1f}" y="1" width="{width:.1f}" height="{PHASE_HEIGHT - 6}" rx="2"/>'
        f'<line x1="{x:.1f}" y1="1" x2="{x:.1f}" y2="{bottom:.0f}"/>'
        f'<text x="{x + 5:.1f}" y="14" data-text="{escape(phase.name)}">{escape(text)}</text></g>'
    )


def _axis(begin: int, end: int, scale: float, top: float, bottom: float) -> str:
    step = _step(end - begin)
    first = -(-begin // step) * step
    parts = ['<g class="ticks">']
    for cycle in range(first, end + 1, step):
        x = (cycle - begin) * scale
        anchor = "start" if x < 12 else "end" if x > PLOT_WIDTH - 20 else "middle"
        parts.append(
            f'<line class="tick" x1="{x:.1f}" y1="{top:.0f}" x2="{x:.1f}" y2="{bottom:.0f}"/>'
            f'<text class="axis" x="{x:.1f}" y="{bottom + 16:.0f}" text-anchor="{anchor}">{cycle:,}</text>'
        )
    parts.append("</g>")
    return "".join(parts)


def _step(cycles: int) -> int:
    """A round step (1, 2 or 5 times a power of ten) that gives at most twelve ticks."""
    step = 1
    while cycles > 12 * step:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


def _kind(kind: str) -> str:
    return kind if kind in KINDS else "other"
