"""A deterministic discrete-event simulator: plays a schedule on a device profile and forecasts its time. No solver."""

from solver.simulate.baselines import (
    BASELINES,
    BaselineKind,
    baseline_schedule,
    chosen_schedule,
    forecast_baseline,
)
from solver.simulate.result import Simulation, Stall, TimelineEvent
from solver.simulate.simulator import simulate

__all__ = [
    "BASELINES",
    "BaselineKind",
    "Simulation",
    "Stall",
    "TimelineEvent",
    "baseline_schedule",
    "chosen_schedule",
    "forecast_baseline",
    "simulate",
]
