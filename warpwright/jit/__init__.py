"""``@warpwright.tuned``: replaces ``@tilelang.jit`` or ``@tilelang.autotune`` and runs the best known schedule."""

from warpwright.jit.decorator import tuned
from warpwright.jit.sources import Choice, ClientSource, LockSource, Source

__all__ = ["Choice", "ClientSource", "LockSource", "Source", "tuned"]
