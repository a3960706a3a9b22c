"""A stand-in toolchain: deterministic, needs no compiler and no device. For tests, demonstrations and load measurements."""

from warpwright.tuning.testing.toolchain import StandInToolchain, new_ir, stand_in_ir

__all__ = ["StandInToolchain", "new_ir", "stand_in_ir"]
