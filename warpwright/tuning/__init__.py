"""``@warpwright.tuned``: stands where ``@tilelang.jit`` or ``@tilelang.autotune`` stood, and runs the best known schedule."""

from warpwright.tuning.decorator import tuned
from warpwright.tuning.sources import Choice, ClientSource, LockSource, Source

__all__ = ["Choice", "ClientSource", "LockSource", "Source", "tuned"]
