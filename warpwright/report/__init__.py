"""Reports: one self-contained HTML file about a result, readable without a server and without a network."""

from pathlib import Path

from solver.domain import HardwareProfile
from warpwright.kernel_file import KernelFile
from warpwright.report.drawing import draw
from warpwright.report.page import render_page
from warpwright.result import Result

__all__ = ["render_page", "write_report"]


def write_report(result: Result, kernel: KernelFile, profile: HardwareProfile, path: Path) -> None:
    """Writes the page of a result, with timeline and memory maps of the chosen schedule where there is one."""
    path.write_text(report_text(result, kernel, profile), "utf-8")


def report_text(result: Result, kernel: KernelFile, profile: HardwareProfile) -> str:
    """The page of a result as text."""
    drawn = draw(result, kernel, profile)
    return render_page(result, profile, lanes=drawn.lanes, facts=drawn.facts, maps=drawn.maps)
