"""What this machine can really use: cores and memory that the cgroup allows, and how many builds fit at the same time.

Reads cgroup v2 and v1; a container that sees 64 host cores but may use two has two.
"""

import os
from pathlib import Path

__all__ = ["available_cores", "available_memory_bytes", "oom_kills", "parallel_slots"]

CGROUP = Path("/sys/fs/cgroup")
UNLIMITED = 1 << 60


def available_cores(root: Path = CGROUP, affinity: int | None = None) -> int:
    """Cores that this process may use: the affinity mask, capped by the cgroup's CPU quota, at least one."""
    cores = affinity if affinity is not None else len(os.sched_getaffinity(0))
    for folder in _folders(root, "cpu"):
        quota = _quota(folder)
        if quota is not None:
            cores = min(cores, max(1, int(quota)))
    return max(1, cores)


def available_memory_bytes(root: Path = CGROUP, meminfo: Path = Path("/proc/meminfo")) -> int:
    """Memory that is still available: the kernel's estimate, capped by what the cgroup's limit leaves."""
    free = _meminfo(meminfo, "MemAvailable") or _meminfo(meminfo, "MemFree") or (1 << 30)
    for folder in _folders(root, "memory"):
        # Above memory.high the kernel does not refuse memory but becomes very slow, so this limit counts as well.
        limits = [_number(folder / name) for name in ("memory.max", "memory.high", "memory.limit_in_bytes")]
        limit = min((number for number in limits if number), default=None)
        used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes") or 0
        if limit is not None and limit < UNLIMITED:
            free = min(free, max(0, limit - used + _inactive_file(folder)))
    return free


def parallel_slots(task_memory_bytes: int, *, cores: int | None = None, memory_bytes: int | None = None) -> int:
    """Tasks of this memory that may run at once: bounded by cores and by four fifths of the free memory, at least one."""
    cores = cores if cores is not None else available_cores()
    memory = memory_bytes if memory_bytes is not None else available_memory_bytes()
    return max(1, min(cores, int(memory * 0.8) // max(1, task_memory_bytes)))


def oom_kills(root: Path = CGROUP) -> int:
    """How often the kernel's OOM killer has killed a process in our cgroups so far; 0 if the kernel does not say."""
    total = 0
    for folder in _folders(root, "memory"):
        for name in ("memory.events", "memory.oom_control"):
            for line in _lines(folder / name):
                key, _, value = line.partition(" ")
                if key == "oom_kill" and value.strip().isdigit():
                    total += int(value)
    return total


def _folders(root: Path, controller: str) -> list[Path]:
    """The cgroup folders whose limits apply: this process's own and all above it, in the v2 tree and in the v1
    controller's tree.
    """
    folders: list[Path] = []
    for line in _lines(Path("/proc/self/cgroup")) if root == CGROUP else ["0::/"]:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = root / controller if controllers else root
        parts = [part for part in path.split("/") if part]
        folders += [base.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]
    if root != CGROUP:
        folders.append(root / controller)
    return [folder for folder in folders if folder.is_dir()]


def _quota(folder: Path) -> float | None:
    text = " ".join(_lines(folder / "cpu.max")).split()
    if len(text) == 2 and text[0].isdigit():
        return int(text[0]) / int(text[1])
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota is not None and quota > 0 and period else None


def _inactive_file(folder: Path) -> int:
    """Page cache that the kernel reclaims before it refuses memory."""
    for line in _lines(folder / "memory.stat"):
        key, _, value = line.partition(" ")
        if key in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def _meminfo(path: Path, key: str) -> int | None:
    for line in _lines(path):
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return None


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
