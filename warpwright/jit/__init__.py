"""``@warpwright.tuned``: replaces ``@tilelang.jit`` or ``@tilelang.autotune`` and runs the best known schedule."""

from warpwright.jit.decorator import tuned
from warpwright.jit.sources import ClientSource, KnownChoice, LockSource, Source

__all__ = ["ClientSource", "KnownChoice", "LockSource", "Source", "tuned"]
