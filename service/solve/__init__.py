"""Schedules without building: solve and explain."""
