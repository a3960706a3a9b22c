"""Constraint engines behind one port. Only this package imports Z3 or OR-Tools, and only inside the adapter modules."""

from warpwright.solver.engines.port import Budget, Engine, EngineResult, EngineStatus, engine, engine_names

__all__ = ["Budget", "Engine", "EngineResult", "EngineStatus", "engine", "engine_names"]
