"""The lock file: schedules with digests that a repository commits, so that a build needs no service and no search."""

from warpwright.lock.building import BuiltKernel, build_locked
from warpwright.lock.document import LockEntry, read_lock, write_lock
from warpwright.lock.making import entry_of

__all__ = ["BuiltKernel", "LockEntry", "build_locked", "entry_of", "read_lock", "write_lock"]
