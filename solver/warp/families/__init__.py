"""Rule families: one module per rule, each with ``NAME``, ``build``, ``check`` and ``explain``.

``build`` writes the rule into a model, ``check`` decides it on a finished schedule in plain Python and imports no engine,
``explain`` gives the numbers. ``build`` and ``check`` must agree; tests verify it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.warp.encoding import Encoding
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

__all__ = ["FAMILIES", "STRUCTURAL", "Family", "family"]


@dataclass(frozen=True, slots=True)
class Family:
    """One rule with its three functions."""

    name: str
    build: Callable[[Encoding], None]
    check: Callable[[Reading], tuple[Violation, ...]]
    explain: Callable[[WarpProblem, Reading | None], tuple[Fact, ...]]


def _family(module: ModuleType) -> Family:
    return Family(module.NAME, module.build, module.check, module.explain)


FAMILIES = tuple(
    _family(module)
    for module in (
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
)
STRUCTURAL = 3
"""The first families decide whether a schedule belongs to this kernel at all; the others assume it."""


def family(name: str) -> Family:
    """The family with this name.

    Raises:
        KeyError: there is none.
    """
    return {entry.name: entry for entry in FAMILIES}[name]
