"""A deterministic discrete-event simulator: simulates a schedule on a device profile and forecasts its time. No solver."""

from warpwright.solver.forecast.baselines import baseline_schedule, chosen_schedule, forecast_baseline
from warpwright.solver.forecast.result import Simulation, Stall, TimelineEvent, UnitLoad
from warpwright.solver.forecast.simulator import simulate

__all__ = [
    "Simulation",
    "Stall",
    "TimelineEvent",
    "UnitLoad",
    "baseline_schedule",
    "chosen_schedule",
    "forecast_baseline",
    "simulate",
]
