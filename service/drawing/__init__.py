"""Drawings of a schedule: timeline, memory maps, facts. Plain values in, SVG text out that escapes every name it is given."""

from functools import cache
from importlib.resources import files

from service.drawing.memory import Block, MemoryMap, buffer_maps, memory_svg, register_map, shared_map
from service.drawing.schedule import Drawn, draw_schedule, facts_of, lanes_of, loop_lanes
from service.drawing.timeline import Lane, Span, timeline_svg

__all__ = [
    "Block",
    "Drawn",
    "Lane",
    "MemoryMap",
    "Span",
    "buffer_maps",
    "draw_schedule",
    "drawing_css",
    "facts_of",
    "lanes_of",
    "loop_lanes",
    "memory_svg",
    "register_map",
    "shared_map",
    "timeline_svg",
]


@cache
def drawing_css() -> str:
    """Style sheet of the drawings, light and dark."""
    return files("service.drawing").joinpath("drawing.css").read_text("utf-8")
