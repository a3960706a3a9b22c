"""A stand-in nvcc (and bisheng) with a given behaviour, for tests of everything around a compiler; it checks its command line.

``write(folder, behaviour)`` makes an executable; point ``WARPWRIGHT_NVCC`` (or the task's ``nvcc`` key) at it.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

__all__ = ["ASSEMBLER_LOGS", "Behaviour", "shared_object", "write"]

Behaviour = Literal[
    "good", "hang", "segfault", "memory", "flood", "truncated", "wrong_arch", "no_output", "sleeper", "fickle"
]
"""``fickle``: takes a while, and never gives the same bytes twice."""

ASSEMBLER_LOGS: Mapping[str, str] = {
    "clean": "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 4 barriers, 1024 bytes smem\n",
    "two_blocks": "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 80 registers, used 1 barriers, 1024 bytes smem\n",
    "C7507": "ptxas info    : (C7507) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register"
    " requirements.\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 154 registers, used 4 barriers, 1024 bytes smem\n",
    "C7511": "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to"
    " insufficient register resources for the wgmma pipeline in the function 'k'\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "    512 bytes stack frame, 768 bytes spill stores, 656 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 4 barriers, 512 bytes cumulative stack size, 1024 bytes smem\n",
    "C7600": "ptxas fatal   : (C7600) Register allocation failed with register count of '255'. Compile the program with a"
    " higher register target\nptxas fatal   : Ptx assembly aborted due to errors\n",
    "C7602": "ptxas fatal   : (C7602) Insufficient registers (128) to compile instruction at line 1119 in function k."
    " Try to compile with register target of 154 or higher.\nptxas fatal   : Ptx assembly aborted due to errors\n",
    "multiple_of_8": "ptxas k.ptx, line 156; error   : Argument 1 of instruction 'setmaxnreg.inc': unexpected value '233',"
    " expected to be multiple of 8\nptxas fatal   : Ptx assembly aborted due to errors\n",
    "static_shared": "ptxas error   : Entry function 'k' uses too much shared data (0x10400 bytes, 0xc000 max)\n",
    "host_error": 'kernel.cu(12): error: identifier "nonsense" is undefined\n1 error detected in the compilation of'
    ' "kernel.cu".\n',
}
"""What ptxas 13.0.88 printed for real kernels (C7600 and static_shared: forms from public reports), shortened."""

BISHENG_LOGS: Mapping[str, str] = {
    "clean": "",
    "ub": "kernel.asc:31:5: error: ub overflow, requires 2228224 bits while 2031616 bits available\n",
    "host_error": "kernel.asc:12:3: error: use of undeclared identifier 'nonsense'\n",
}
"""Forms from public reports of Ascend kernels; no such compiler was available."""

REQUIRED: Mapping[str, list[str]] = {
    "nvcc": ["--shared", "-gencode", "-Xptxas", "-v", "-lcuda", "-o", "kernel.cu"],
    "bisheng": ["-O2", "-fPIC", "-std=c++20", "--npu-arch=dav-3510", "--shared", "-o", "kernel.asc"],
}
"""Required parts of each command line; the last one is the source file."""

_SCRIPT = """#!{python}
import json, os, signal, subprocess, sys, time
told = json.loads({told!r})
arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("Cuda compilation tools, release 99.0, V99.0.1")
    sys.exit(0)
missing = [part for part in told["required"] if part not in arguments]
if missing or not os.path.exists(told["source"]):
    print("stand-in: error: missing on the command line:", missing)
    sys.exit(9)
architecture = arguments[arguments.index("-gencode") + 1].rpartition("code=")[2] if "-gencode" in arguments else ""
output = arguments[arguments.index("-o") + 1]
behaviour = told["behaviour"]
if behaviour == "hang":
    time.sleep(3600)
if behaviour == "sleeper":
    subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); time.sleep(3600)"])
    time.sleep(3600)
if behaviour == "segfault":
    os.kill(os.getpid(), signal.SIGSEGV)
if behaviour == "memory":
    held = []
    while True:
        held.append(bytearray(b"x") * (16 << 20))
        time.sleep(0.01)
if behaviour == "flood":
    sys.stdout.write("x" * (64 << 20))
log = told["log"]
if told["cured_by"] and told["cured_by"] in open(told["source"]).read():
    log, told["code"] = told["clean"], 0
if behaviour == "wrong_arch":
    architecture = "sm_75"
print(log.replace("sm_90a", architecture), end="")
if told["code"]:
    sys.exit(told["code"])
data = bytes.fromhex(told["data"])
if behaviour == "fickle":
    time.sleep(0.5)
    data += os.urandom(16)
if behaviour == "truncated":
    data = data[: len(data) // 2]
if behaviour != "no_output":
    with open(output, "wb") as file:
        file.write(data)
"""


def write(
    folder: Path, behaviour: Behaviour = "good", *, log: str = "clean", name: str = "nvcc", cured_by: str = ""
) -> Path:
    """Writes the executable ``folder/nvcc`` (or ``bisheng``); ``log`` names one of the logs, errors among them fail the run.

    ``cured_by`` is a text that makes the run succeed if the source contains it.
    """
    text = (ASSEMBLER_LOGS if name == "nvcc" else BISHENG_LOGS)[log]
    code = 1 if "fatal" in text or "error" in text else 0
    told = json.dumps(
        {
            "behaviour": behaviour,
            "log": text,
            "code": code,
            "clean": ASSEMBLER_LOGS["clean"],
            "data": shared_object().hex(),
            "required": REQUIRED[name],
            "source": REQUIRED[name][-1],
            "cured_by": cured_by,
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(_SCRIPT.format(python=sys.executable, told=told))
    path.chmod(0o755)
    return path


def shared_object(padding: int = 256) -> bytes:
    """The smallest bytes that pass as a complete ELF shared object of this machine."""
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    header[16:18] = (3).to_bytes(2, "little")
    header[18:20] = (62).to_bytes(2, "little")
    header[40:48] = (64 + padding).to_bytes(8, "little")
    header[58:60] = (64).to_bytes(2, "little")
    header[60:62] = (1).to_bytes(2, "little")
    return bytes(header) + b"\x00" * (padding + 64)
