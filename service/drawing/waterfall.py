"""A waterfall as a table with bars: it reads without colours, without scripts, on paper and by a screen reader."""

from collections.abc import Sequence
from html import escape

from warpwright.solver.forecast import WaterfallStep

__all__ = ["waterfall_html"]


def waterfall_html(steps: Sequence[WaterfallStep], of: str = "") -> str:
    """The table, empty without steps; ``of`` names the candidate for a screen reader.

    Bars of levels begin at zero, the others where the step before ended.
    """
    if not steps:
        return ""
    ends, level = [], 0.0
    for step in steps:
        begin = 0.0 if step.total else level
        level = step.nanoseconds if step.total else level + step.nanoseconds
        ends.append((min(begin, level), max(begin, level)))
    widest = max(end for _, end in ends)
    rows = [_row(step, begin / widest, end / widest) for step, (begin, end) in zip(steps, ends, strict=True)]
    label = escape(f"From bound to clock, {of}" if of else "From bound to clock")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table class="waterfall"><thead><tr>'
        '<th scope="col">step</th><th scope="col" class="n">µs of a launch</th><th scope="col" class="n">cycles an iteration</th>'
        '<th scope="col"><span class="hidden">bar</span></th><th scope="col">why</th></tr></thead><tbody>'
        f"{''.join(rows)}</tbody></table></div>"
    )


def _row(step: WaterfallStep, begin: float, end: float) -> str:
    sign = "" if step.total else "+" if step.nanoseconds >= 0 else "−"
    kind = "level" if step.total else "loss" if step.nanoseconds >= 0 else "gain"
    cycles = "" if step.cycles is None else f"{sign}{abs(step.cycles):,.0f}"
    return (
        f'<tr class="{kind}"><th scope="row">{escape(step.name)}</th>'
        f'<td class="n">{sign}{abs(step.nanoseconds) / 1000:,.1f}</td><td class="n">{cycles}</td>'
        f'<td class="bar"><span style="margin-left: {100 * begin:.2f}%; width: {max(0.3, 100 * (end - begin)):.2f}%"></span></td>'
        f"<td>{escape(step.words)}</td></tr>"
    )
