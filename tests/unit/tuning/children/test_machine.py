"""Cores and memory as the cgroup allows them, read from copies of its files."""

from pathlib import Path

import pytest

from warpwright.tuning.children import parallel_slots
from warpwright.tuning.children.machine import available_cores, available_memory_bytes, oom_kills


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_a_v2_quota_cuts_the_cores(tmp_path: Path) -> None:
    write(tmp_path, cpu__max="250000 100000\n")
    assert available_cores(tmp_path, affinity=64) == 2


def test_a_v1_quota_cuts_the_cores_and_no_quota_does_not(tmp_path: Path) -> None:
    write(tmp_path / "cpu", cpu__cfs_quota_us="400000", cpu__cfs_period_us="100000")
    assert available_cores(tmp_path, affinity=64) == 4
    write(tmp_path / "cpu", cpu__cfs_quota_us="-1")
    assert available_cores(tmp_path, affinity=64) == 64


def test_a_quota_below_one_core_still_gives_one(tmp_path: Path) -> None:
    write(tmp_path, cpu__max="50000 100000\n")
    assert available_cores(tmp_path, affinity=8) == 1


def test_the_memory_limit_counts_page_cache_as_free(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 99999999 kB\nMemAvailable:   64000000 kB\n")
    write(
        tmp_path / "memory",
        memory__max=str(8 << 30),
        memory__current=str(5 << 30),
        memory__stat=f"inactive_file {1 << 30}\n",
    )
    assert available_memory_bytes(tmp_path, meminfo) == 4 << 30


def test_the_mark_above_which_the_kernel_throttles_binds_too(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemAvailable:   64000000 kB\n")
    write(tmp_path, memory__max=str(8 << 30), memory__high=str(6 << 30), memory__current=str(1 << 30))
    assert available_memory_bytes(tmp_path, meminfo) == 5 << 30
    write(tmp_path, memory__max="max\n", memory__high="max\n")
    assert available_memory_bytes(tmp_path, meminfo) == 64000000 * 1024


def test_a_v1_limit_holds_where_there_is_no_v2_tree(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemAvailable:   64000000 kB\n")
    write(
        tmp_path / "memory",
        memory__limit_in_bytes=str(3 << 30),
        memory__usage_in_bytes=str(2 << 30),
        memory__stat=f"total_inactive_file {1 << 29}\n",
    )
    assert available_memory_bytes(tmp_path, meminfo) == (1 << 30) + (1 << 29)
    write(tmp_path / "memory", memory__limit_in_bytes=str(0x7FFFFFFFFFFFF000))
    assert available_memory_bytes(tmp_path, meminfo) == 64000000 * 1024


def test_without_a_limit_the_kernels_estimate_holds(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemAvailable:   1000 kB\n")
    write(tmp_path / "memory", memory__max="max\n", memory__current="1")
    assert available_memory_bytes(tmp_path, meminfo) == 1000 * 1024


def test_oom_kills_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "memory", memory__events="low 0\noom 3\noom_kill 2\n")
    assert oom_kills(tmp_path) == 2


@pytest.mark.parametrize(
    ("cores", "memory_gib", "task_gib", "slots"),
    [(16, 128, 2, 16), (16, 16, 2, 6), (2, 1, 4, 1), (64, 560, 3, 64)],
)
def test_builds_are_bounded_by_memory_as_well_as_cores(cores: int, memory_gib: int, task_gib: int, slots: int) -> None:
    assert parallel_slots(task_gib << 30, cores=cores, memory_bytes=memory_gib << 30) == slots
