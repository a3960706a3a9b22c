"""The lock file: schedules with digests that a repository commits, so that a build needs no service and no search."""

from warpwright.lock.building import BuiltKernel, build_locked, check_entry, check_toolchain, folder_names
from warpwright.lock.document import LOCK_NAME, LockEntry, merged, read_lock, update_lock, write_lock
from warpwright.lock.making import entry_of

__all__ = [
    "LOCK_NAME",
    "BuiltKernel",
    "LockEntry",
    "build_locked",
    "check_entry",
    "check_toolchain",
    "entry_of",
    "folder_names",
    "merged",
    "read_lock",
    "update_lock",
    "write_lock",
]
