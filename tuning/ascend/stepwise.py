"""A kernel's plan in two steps: a quick one, so that there is an answer, and the whole search. Child processes only."""

from dataclasses import replace
from typing import Any

from warpwright.solver.ascend.optimise import QUICK
from warpwright.solver.domain import HardwareProfile, Pins
from warpwright.tuning.ascend.kernel import Planned, plan_kernel

__all__ = ["quick_plan", "whole_plan"]


def quick_plan(function: Any, profile: HardwareProfile, pins: Pins, engine: str) -> Planned:
    """The plan of a short search, by our own search where another engine is asked: it is a step on the way.

    Raises:
        As :func:`warpwright.tuning.ascend.kernel.plan_kernel`.
    """
    planned = plan_kernel(function, profile, pins, engine="exact", limits=QUICK)
    return planned if engine == "exact" else replace(planned, settled=False)


def whole_plan(function: Any, profile: HardwareProfile, pins: Pins, engine: str) -> Planned:
    """The plan of the engine that was asked, within its whole budget.

    Raises:
        As :func:`warpwright.tuning.ascend.kernel.plan_kernel`.
    """
    return plan_kernel(function, profile, pins, engine=engine)
