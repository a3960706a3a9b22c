"""Artifacts: bytes by content digest."""
