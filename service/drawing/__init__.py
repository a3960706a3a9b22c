"""Drawings of a schedule: timelines, memory maps, facts. Plain values in, SVG text out, with every name escaped.

``static/`` holds the palette of all pages (``drawing.css``) and the zoom of timelines (``timeline.js``).
"""

from warpwright.service.drawing.block import UNITS, block_timeline
from warpwright.service.drawing.memory import (
    MemoryMap,
    ResourcePart,
    buffer_maps,
    memory_html,
    register_map,
    shared_map,
)
from warpwright.service.drawing.pipes import loop_timeline
from warpwright.service.drawing.roofline import RooflinePoint, roofline_svg
from warpwright.service.drawing.schedule import Drawn, Evidence, draw_schedule, facts_of
from warpwright.service.drawing.timeline import Timeline, TimelineLane, TimelinePhase, TimelineSpan, timeline_svg
from warpwright.service.drawing.waterfall import waterfall_html

__all__ = [
    "UNITS",
    "Drawn",
    "Evidence",
    "MemoryMap",
    "ResourcePart",
    "RooflinePoint",
    "Timeline",
    "TimelineLane",
    "TimelinePhase",
    "TimelineSpan",
    "block_timeline",
    "buffer_maps",
    "draw_schedule",
    "facts_of",
    "loop_timeline",
    "memory_html",
    "register_map",
    "roofline_svg",
    "shared_map",
    "timeline_svg",
    "waterfall_html",
]
