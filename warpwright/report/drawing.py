"""The winner's drawings: its graph is read again from the kernel file, so a report needs nothing that was not kept."""

from service.drawing import Drawn, draw_schedule
from solver.domain import HardwareProfile, WarpwrightError
from warpwright.graphs import read_graph
from warpwright.kernel_file import KernelFile
from warpwright.result import Result

__all__ = ["draw"]


def draw(result: Result, kernel: KernelFile, profile: HardwareProfile) -> Drawn:
    """The winner's drawings. Where the kernel cannot be read here, the page says so in place of the timeline."""
    best = result.best
    if best is None or best.schedule is None or best.variant >= len(kernel.variants):
        return Drawn()
    try:
        graph = read_graph(kernel.variants[best.variant].ir, profile)
    except WarpwrightError as error:
        return Drawn(facts=(("No timeline", error.message),))
    return draw_schedule(graph, profile, best.schedule)
