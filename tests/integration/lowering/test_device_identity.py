"""The name of a lease: processes that see one GPU by different indices name it alike. The driver is a small one of our own."""

import subprocess
from pathlib import Path

import pytest

from warpwright.tuning.children import Limits, Returned, run_task

DRIVER = """
#include <cstdlib>
#include <cstring>
extern "C" {
int cuInit(unsigned flags) { return getenv("DRIVER_BROKEN") ? 999 : 0; }
int cuDeviceGet(int *device, int ordinal) {
  const char *shown = getenv("CUDA_VISIBLE_DEVICES");
  if (shown && ordinal > 0) return 101;
  *device = shown ? atoi(shown) : ordinal;
  return 0;
}
int %s(unsigned char *uuid, int device) { memset(uuid, 0xa0 + device, 16); return 0; }
}
"""
LIMITS = Limits(wall_seconds=30.0)


def identity(folder: Path, index: int, **environment: str) -> str:
    payload = {"action": "identify", "device": {"kind": "cuda", "index": index}}
    reply = run_task("measure.device", payload, LIMITS, environment={"LD_LIBRARY_PATH": str(folder), **environment})
    assert isinstance(reply, Returned), reply
    return str(reply.value["identity"])


@pytest.mark.parametrize("function", ["cuDeviceGetUuid_v2", "cuDeviceGetUuid"])
def test_an_index_is_resolved_by_the_driver(function: str, tmp_path: Path) -> None:
    (tmp_path / "driver.cpp").write_text(DRIVER % function)
    command = ["g++", "-shared", "-fPIC", "-o", str(tmp_path / "libcuda.so.1"), str(tmp_path / "driver.cpp")]
    subprocess.run(command, check=True)
    second = "GPU-" + "-".join("a1" * size for size in (4, 2, 2, 2, 6))
    assert identity(tmp_path, 1) == second
    if function == "cuDeviceGetUuid":
        return  # an older driver differs in the function's name alone, and every question loads the libraries anew
    assert identity(tmp_path, 0, CUDA_VISIBLE_DEVICES="1") == second
    assert identity(tmp_path, 0) != second
    assert identity(tmp_path, 1, CUDA_VISIBLE_DEVICES="1") == "", "no such device"
    assert identity(tmp_path, 0, DRIVER_BROKEN="1") == ""


def test_without_a_driver_there_is_no_identity(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_bytes(b"no library")
    assert identity(tmp_path, 0) == ""
