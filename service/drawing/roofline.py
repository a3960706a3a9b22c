"""The roofline of one kernel as SVG: throughput over operations per byte, both logarithmic, with the device's two roofs.

The roofs are the maker's; a dashed one is the peak at the clock that was measured, which is what a kernel at the power limit can
reach. Every time of a kernel has the same intensity, so its points stand above each other, with their names beside them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from warpwright.tuning.roofline import Roofline

__all__ = ["RooflinePoint", "roofline_svg"]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 360, 60, 40, 16, 14
LINE = 14
KINDS = ("scheduled", "compiler", "vendor")
Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One time as a point: ``intensity`` is operations per byte; ``kind`` is one of ``KINDS``."""

    name: str
    kind: str
    intensity: float
    tflops: float
    best: bool = False


def roofline_svg(line: Roofline, points: Sequence[RooflinePoint], measured_mhz: float | None = None) -> str:
    """The drawing; empty where a rate or the work is not known."""
    if not points or not line.peak_tflops or not line.bandwidth_gb_per_second:
        return ""
    ridge = line.peak_tflops * 1e3 / line.bandwidth_gb_per_second
    x0 = floor(log10(min(ridge, *(each.intensity for each in points)) / 3))
    x1 = ceil(log10(max(ridge, *(each.intensity for each in points)) * 3))
    y1 = log10(line.peak_tflops * 1.6)
    y0 = min(floor(y1) - 2.0, floor(log10(min(each.tflops for each in points))))

    def across(intensity: float) -> float:
        return LEFT + (log10(intensity) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)

    def up(tflops: float) -> float:
        return HEIGHT - BOTTOM - (log10(tflops) - y0) / (y1 - y0) * (HEIGHT - BOTTOM - TOP)

    def roof(peak: float, kind: str) -> str:
        least = max(10**x0, 10**y0 * 1e3 / line.bandwidth_gb_per_second)
        corner = peak * 1e3 / line.bandwidth_gb_per_second
        path = [(least, least * line.bandwidth_gb_per_second / 1e3), (corner, peak), (10**x1, peak)]
        return f'<polyline class="{kind}" points="{" ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in path)}"/>'

    parts = [_grid(x0, x1, y0, y1, across, up)]
    parts.append(roof(line.peak_tflops, "roof"))
    words = f"{line.peak_tflops:,.0f} TFLOP/s, {line.operands} at {line.clock_mhz:,.0f} MHz"
    parts.append(_text(WIDTH - RIGHT - 4, up(line.peak_tflops) - 5, words, "end"))
    if measured_mhz and line.clock_mhz:
        peak = line.peak_tflops * measured_mhz / line.clock_mhz
        parts.append(roof(peak, "roof at-clock"))
        if up(peak) - up(line.peak_tflops) >= LINE:  # else there is no room between the roofs, and the table says it
            words = f"{peak:,.0f} at the measured {measured_mhz:,.0f} MHz"
            parts.append(_text(WIDTH - RIGHT - 4, up(peak) - 3, words, "end"))
    middle = 10 ** ((x0 + log10(ridge)) / 2)
    words = f"{line.bandwidth_gb_per_second:,.0f} GB/s"
    parts.append(_text(across(middle) - 6, up(middle * line.bandwidth_gb_per_second / 1e3) - 6, words, "end"))
    parts += _points(points, across, up)
    label = "Roofline: " + "; ".join(f"{each.name} {each.tflops:,.0f} TFLOP/s" for each in points)
    return (
        f'<svg class="roofline" role="img" aria-label="{escape(label)}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(parts)}</svg>'
    )


def _points(points: Sequence[RooflinePoint], across: Scale, up: Scale) -> list[str]:
    """Marks at their places; names beside them, moved apart where they would overlap."""
    found, taken = [], -1e9
    for each in sorted(points, key=lambda point: -point.tflops):
        x, y = across(each.intensity), up(each.tflops)
        place = max(y, taken + LINE)
        taken = place
        side, anchor = (-16, "end") if x > WIDTH / 2 else (16, "start")
        kind = each.kind if each.kind in KINDS else "compiler"
        shape = (
            f'<path d="M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7z"/>'
            if each.best
            else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
        )
        title = f"<title>{escape(each.name)}: {each.tflops:,.1f} TFLOP/s</title>"
        line = f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x + side * 0.85:.1f}" y2="{place:.1f}"/>'
        words = _text(x + side, place + 4, f"{each.name} {each.tflops:,.0f}", anchor)
        found.append(f'<g class="point {kind}">{title}{line}{shape}{words}</g>')
    return found


def _grid(x0: float, x1: float, y0: float, y1: float, across: Scale, up: Scale) -> str:
    parts = []
    for power in range(int(x0), int(x1) + 1):
        x = across(10**power)
        parts.append(f'<line class="tick" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
        anchor = "end" if power == int(x1) else "middle"
        parts.append(_text(x, HEIGHT - BOTTOM + 15, f"{10**power:g}", anchor, "axis"))
    for power in range(int(y0), floor(y1) + 1):
        y = up(10**power)
        parts.append(f'<line class="tick" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{10**power:g}", "end", "axis"))
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 6, "operations per byte of global memory", "middle", "axis"))
    parts.append(_text(6, TOP - 4, "TFLOP/s", "start", "axis"))
    return "".join(parts)


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
