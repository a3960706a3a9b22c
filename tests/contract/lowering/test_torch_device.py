"""The torch and ctypes parts of a device, on the host's processor, with kernels that a C compiler makes."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from warpwright.lowering.compile import Argument, CompiledKernel
from warpwright.lowering.measure import MeasureJob
from warpwright.lowering.measure.result import to_document
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import CandidateKind, Outcome, digest_bytes
from warpwright.tuning.children import ChildPool, Limits
from warpwright.tuning.measure import MeasureReport, measure_all

COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")

ELEMENTS = 4000

KERNEL = """
#include <math.h>
static char text[64];
static int calls;
const char* get_last_error(void) { return text; }
int init(void) { return INIT; }
int call(TYPE* a, TYPE* out, void* stream) {
  (void)stream;
  calls++;
  for (int i = BEGIN; i < END; i++) out[i] = a[i] * 2 + (calls > LATE ? 1 : 0);
  return CODE;
}
"""


def built(folder: Path, name: str, dtype: str = "float32", **values: str) -> CompiledKernel:
    """A kernel that doubles its input, changed by the values given."""
    settings = {
        "INIT": "0",
        "BEGIN": "0",
        "END": str(ELEMENTS),
        "LATE": "1000000000",
        "CODE": "0",
        "TYPE": "float",
        **values,
    }
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(KERNEL)
    defines = [f"-D{key}={value}" for key, value in settings.items()]
    command = [str(COMPILER), "-shared", "-fPIC", "-O1", *defines, str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    arguments = (Argument("a", dtype, (ELEMENTS,), "in"), Argument("out", dtype, (ELEMENTS,), "out"))
    digest = digest_bytes(library.read_bytes())
    outcome = StepOutcome(Outcome.COMPILED)
    return CompiledKernel(
        CandidateKind.SCHEDULED, "host_0", outcome, binary=str(library), binary_digest=digest, arguments=arguments
    )


@pytest.fixture(autouse=True)
def own_leases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPWRIGHT_LEASES", str(tmp_path / "leases"))


def measure(*jobs: MeasureJob) -> MeasureReport:
    limits = Limits(wall_seconds=60, memory_bytes=4 << 30)
    return measure_all(jobs, {"kind": "host"}, limits=limits, lease_patience_seconds=0)


def test_real_objects_are_loaded_checked_and_timed(tmp_path: Path) -> None:
    reference = built(tmp_path, "reference")
    report = measure(
        MeasureJob("right", built(tmp_path, "right"), reference),
        MeasureJob("half", built(tmp_path, "half", END=str(ELEMENTS // 2)), reference),
        MeasureJob("corner", built(tmp_path, "corner", BEGIN="8"), reference),
        MeasureJob("late", built(tmp_path, "late", LATE="90"), reference),
        MeasureJob("refused", built(tmp_path, "refused", INIT="-1"), reference),
        MeasureJob("fails", built(tmp_path, "fails", CODE="7"), reference),
    )
    kinds = {result.candidate: result.outcome.kind for result in report.results}
    assert kinds == {
        "right": Outcome.MEASURED,
        "half": Outcome.WRONG_RESULT,
        "corner": Outcome.WRONG_RESULT,
        "late": Outcome.WRONG_RESULT,
        "refused": Outcome.LAUNCH_FAILED,
        "fails": Outcome.LAUNCH_FAILED,
    }
    assert report.winner == "right"
    assert "2000 elements unwritten" in report.result("half").outcome.message
    right = report.result("right")
    assert right.summary is not None
    assert right.summary.median_ns > 0
    assert all(one.relative_error == 0 for check in right.checks for one in check.comparisons)


def test_integers_must_be_equal_and_fully_written(tmp_path: Path) -> None:
    reference = built(tmp_path, "reference", "int32", TYPE="int")
    half = built(tmp_path, "half", "int32", TYPE="int", BEGIN=str(ELEMENTS // 2))
    report = measure(
        MeasureJob("same", built(tmp_path, "same", "int32", TYPE="int"), reference), MeasureJob("half", half, reference)
    )
    assert [result.outcome.kind for result in report.results] == [Outcome.MEASURED, Outcome.WRONG_RESULT]


SPECIAL = """
#include <math.h>
const char* get_last_error(void) { return ""; }
int init(void) { return 0; }
int call(float* a, float* out, void* stream) {
  (void)stream;
  for (int i = 0; i < 4000; i++) out[i] = a[i] * 3e38f;   /* squares of these have no room in a float */
  for (int i = 0; i < 8; i++) { out[i] = FIRST; out[i + 8] = -INFINITY; }
  return 0;
}
"""


def special(folder: Path, name: str, first: str) -> CompiledKernel:
    """A kernel whose output has NaN (or ``first``), infinities and very large numbers."""
    kernel = built(folder, name)
    source = folder / f"{name}.c"
    source.write_text(SPECIAL.replace("FIRST", first))
    command = [str(COMPILER), "-shared", "-fPIC", "-O1", str(source), "-o", str(kernel.binary)]
    subprocess.run(command, check=True, capture_output=True)
    return replace(kernel, binary_digest=digest_bytes(Path(kernel.binary or "").read_bytes()))


def test_nan_equals_nan_and_the_record_holds_no_number_that_json_lacks(tmp_path: Path) -> None:
    """Such references ended as 'Out of range float values are not JSON compliant', as if the build had failed."""
    reference = special(tmp_path, "reference", "NAN")
    report = measure(
        MeasureJob("same", special(tmp_path, "same", "NAN"), reference),
        MeasureJob("number", special(tmp_path, "number", "1.0f"), reference),
        MeasureJob("infinite", special(tmp_path, "infinite", "INFINITY"), reference),
    )
    assert [result.outcome.kind for result in report.results] == [
        Outcome.MEASURED,
        Outcome.WRONG_RESULT,
        Outcome.WRONG_RESULT,
    ]
    assert "8 elements differ where the reference is NaN" in report.result("number").outcome.message
    assert "8 elements differ where the reference is NaN" in report.result("infinite").outcome.message
    json.dumps([to_document(result) for result in report.results], allow_nan=False)


def test_a_binary_that_changed_after_its_build_is_not_loaded(tmp_path: Path) -> None:
    kernel = built(tmp_path, "changed")
    Path(kernel.binary or "").write_bytes(b"\x7fELF" + b"\0" * 200)
    report = measure(MeasureJob("changed", kernel, built(tmp_path, "reference")))
    assert report.results[0].outcome.kind is Outcome.INFRASTRUCTURE
    assert report.results[0].outcome.details == ("artifact-damaged",)


NVML = """
#include <stdlib.h>
#include <string.h>
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process;
static int asked;
int nvmlInitWithFlags(unsigned flags) { (void)flags; return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** h) { *h = (void*)1; return (int)i; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** h) { *h = (void*)2; return strcmp(id, "00000000:81:00.0"); }
int nvmlDeviceGetComputeRunningProcesses_v3(void* h, unsigned* n, process* p) {
  (void)h;
  if (!p) { *n = 3; return 7; }     /* NVML_ERROR_INSUFFICIENT_SIZE: the caller learns how many there are */
  *n = 0;
  if (asked < 4 || !getenv("DYING")) p[(*n)++].pid = 70;  /* a neighbour from the start */
  if (asked) p[(*n)++].pid = 4242;  /* our own process, under the driver's number */
  if (asked == 1) p[(*n)++].pid = 69;  /* a process that was ended a moment ago, and came in with ours */
  if (asked > 3 && !getenv("DYING")) p[(*n)++].pid = 71;
  asked++;
  return 0;
}
typedef struct { unsigned pid; unsigned long long when; unsigned sm, memory, encoder, decoder; } sample;
int nvmlDeviceGetProcessUtilization(void* h, sample* s, unsigned* n, unsigned long long since) {
  (void)h; (void)since;
  if (getenv("IDLE")) return 6;     /* NVML_ERROR_NOT_FOUND: no sample, nobody worked */
  if (!s) { *n = 2; return 7; }
  s[0].pid = 4242; s[0].sm = 98; s[1].pid = 70; s[1].sm = 31;
  *n = 2;
  return 0;
}
int nvmlSystemGetProcessName(unsigned pid, char* t, unsigned n) { strncpy(t, "train.py", n); return pid == 71 ? 0 : 6; }
int nvmlDeviceGetClockInfo(void* h, unsigned kind, unsigned* v) { (void)h; *v = kind == 1 ? 1980 : 3201; return 0; }
int nvmlDeviceGetPowerUsage(void* h, unsigned* v) { (void)h; *v = 512500; return 0; }
int nvmlDeviceGetTemperature(void* h, unsigned s, unsigned* v) { (void)h; (void)s; *v = 61; return 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void* h, unsigned long long* v) { (void)h; *v = 0x5; return 0; }
int nvmlSystemGetDriverVersion(char* t, unsigned n) { strncpy(t, "580.1", n); return 0; }
"""

READ = """
from warpwright.lowering.measure.nvml import Nvml
driver = Nvml()
import warpwright.lowering.measure.nvml as module
module.CLEARING_SECONDS, module.CLEARING_STEP = SECONDS, 0.01
driver.attach("00000000:81:00.0", 99)
first, second = driver.conditions(), driver.conditions()
print(first.sm_clock_mhz, first.memory_clock_mhz, first.power_watts, first.power_limit_watts, first.temperature_celsius)
print(first.throttle, first.foreign_processes, second.foreign_processes, driver.driver_version())
print(*first.foreign, *second.foreign)
print(first.foreign_busy_percent, second.foreign_busy_percent)
"""


def read_nvml(folder: Path, seconds: float, **more: str) -> list[str]:
    """What READ prints beside a stand-in library with NVML's functions."""
    (folder / "nvml.c").write_text(NVML)
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", str(folder / "nvml.c"), "-o", str(library)], check=True)
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **more,
    }
    command = [sys.executable, "-c", READ.replace("SECONDS, 0", f"{seconds}, 0")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def test_the_drivers_own_words_are_read_through_nvml(tmp_path: Path) -> None:
    """Ours is one of the processes that appeared with our context; neighbours are counted and named."""
    assert read_nvml(tmp_path, 0.0) == [
        "1980 3201 512.5 None 61",
        "('power_cap',) 1 2 580.1",
        "process 70 process 70 process 71 (train.py)",
        "31 31",
    ]


def test_a_neighbour_that_only_holds_a_context_is_known_to_be_idle(tmp_path: Path) -> None:
    assert read_nvml(tmp_path, 0.0, IDLE="1")[-1] == "0 0"


def test_a_child_that_was_ended_a_moment_ago_is_no_neighbour(tmp_path: Path) -> None:
    """After a kernel that hung, the driver lists its process for a while: times were called contended on a device of our own."""
    assert read_nvml(tmp_path, 60.0, DYING="1")[1:] == ["('power_cap',) 0 0 580.1", "", "0 0"]


@pytest.mark.parametrize("missing", ["package", "driver"])
def test_a_machine_without_nvml_measures_without_its_words(tmp_path: Path, missing: str) -> None:
    block = 'import sys; sys.modules["pynvml"] = None\n' if missing == "package" else ""
    if missing == "driver":
        (tmp_path / "libnvidia-ml.so.1").write_bytes(b"no library")
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, "-c", block + READ.replace("SECONDS, 0", "0.0, 0")]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["None None None None None", "() None None ", "", "None None"]


def test_an_npu_that_is_not_there_is_named(tmp_path: Path) -> None:
    with ChildPool(1) as pool:
        payload = {"device": {"kind": "npu", "index": 0}, "action": "probe", "protocol": "gpu-1", "jobs": []}
        reply = pool.run("measure.device", payload, Limits(wall_seconds=60, memory_bytes=4 << 30))
    assert "torch_npu" in getattr(reply, "message", "")
