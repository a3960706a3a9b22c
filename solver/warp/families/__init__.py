"""The rule families of warp schedules: one module per rule (:class:`warpwright.solver.domain.family.RuleFamily`).

A model is an :class:`WarpEncoding`, an answer a :class:`Reading` of a finished schedule.
"""

from warpwright.solver.domain.family import RuleFamily
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.families import (
    barriers,
    body_order,
    deadlock,
    hand_offs,
    occupancy,
    pinning,
    pipeline_depth,
    pipelines,
    placement,
    proxy_fences,
    register_need,
    register_pool,
    shared_memory,
    tensor_memory,
    tma_required,
    warp_ranges,
)
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

__all__ = ["FAMILIES", "STRUCTURAL", "WarpFamily", "family"]


WarpFamily = RuleFamily[WarpProblem, WarpEncoding, Reading]

FAMILIES: tuple[WarpFamily, ...] = (
    tma_required,
    placement,
    pipelines,
    hand_offs,
    warp_ranges,
    register_pool,
    register_need,
    pipeline_depth,
    shared_memory,
    tensor_memory,
    barriers,
    body_order,
    proxy_fences,
    deadlock,
    occupancy,
    pinning,
)
STRUCTURAL = 3
"""The first families decide whether a schedule belongs to this kernel at all; the others assume it."""


def family(name: str) -> WarpFamily:
    """The family with this name.

    Raises:
        KeyError: there is none.
    """
    return {entry.NAME: entry for entry in FAMILIES}[name]
