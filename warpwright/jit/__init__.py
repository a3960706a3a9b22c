"""``@warpwright.tuned``: stands where ``@tilelang.jit`` or ``@tilelang.autotune`` stood, and runs the best known schedule."""

from warpwright.jit.decorator import tuned
from warpwright.jit.sources import Choice, ClientSource, LockSource, Source

__all__ = ["Choice", "ClientSource", "LockSource", "Source", "tuned"]
