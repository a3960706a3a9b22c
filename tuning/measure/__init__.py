"""Measuring sessions as the orchestration needs them: devices of this machine, of workers, and the session itself."""

from warpwright.tuning.measure.session import MeasureReport, measure_all

__all__ = ["MeasureReport", "measure_all"]
