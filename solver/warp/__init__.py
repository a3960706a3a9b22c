"""Warp schedules for NVIDIA GPUs: problem, layout of roles and channels, rule families, search, verifier, schedule reader."""
