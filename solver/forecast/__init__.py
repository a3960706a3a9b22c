"""A deterministic discrete-event simulator: simulates a schedule on a device profile and forecasts its time. No solver."""

from warpwright.solver.forecast.baselines import baseline_schedule, chosen_schedule, forecast_baseline
from warpwright.solver.forecast.result import Simulation, Stall, TimelineEvent, UnitLoad
from warpwright.solver.forecast.simulator import simulate
from warpwright.solver.forecast.waterfall import WaterfallStep, losses_between, waterfall

__all__ = [
    "Simulation",
    "Stall",
    "TimelineEvent",
    "UnitLoad",
    "WaterfallStep",
    "baseline_schedule",
    "chosen_schedule",
    "forecast_baseline",
    "losses_between",
    "simulate",
    "waterfall",
]
