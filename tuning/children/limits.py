"""Limits of one task in a child."""

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may use; the clock starts when the child begins the work, not when the task is queued.

    ``memory_bytes`` is the resident memory of the child and all its descendants together. It is polled rather than set as an
    address-space limit, because the CUDA runtime reserves far more address space than it uses. ``output_bytes`` bounds what the
    task prints (native prints included) and, separately, the size of its reply.
    """

    wall_seconds: float = 60.0
    cpu_seconds: float = 600.0
    memory_bytes: int = 8 << 30
    output_bytes: int = 64 << 20
    start_seconds: float = 120.0
    """Time for the interpreter's start and the import of the task's module, before the clock of the work runs."""
