"""Supervised child processes: the only place where TileLang, TVM, torch and vendor compilers run.

The parent side imports nothing heavy. A child runs one task at a time, in its own session, under limits of wall time, CPU time,
memory and output, and is replaced after any kill (docs/decisions/0030-children.md).
"""

from warpwright.tuning.children.environment import users_environment
from warpwright.tuning.children.limits import Limits
from warpwright.tuning.children.machine import available_cores, available_memory_bytes, parallel_slots
from warpwright.tuning.children.pool import ChildPool, run_task
from warpwright.tuning.children.reply import (
    Cancelled,
    Crashed,
    OutOfMemory,
    OutputExceeded,
    ProtocolBroken,
    Raised,
    Refused,
    Reply,
    Returned,
    TimedOut,
)

__all__ = [
    "Cancelled",
    "ChildPool",
    "Crashed",
    "Limits",
    "OutOfMemory",
    "OutputExceeded",
    "ProtocolBroken",
    "Raised",
    "Refused",
    "Reply",
    "Returned",
    "TimedOut",
    "available_cores",
    "available_memory_bytes",
    "parallel_slots",
    "run_task",
    "users_environment",
]
