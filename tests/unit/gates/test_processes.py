"""The server's process holds no solver and no compiler: nothing that crashes under threads can crash it (bug case 62)."""

import subprocess
import sys

import pytest

NATIVE = ("z3", "ortools", "tilelang", "tvm", "torch")
PROGRAM = """
import sys
import warpwright.service.app, warpwright.service.solve.service
import warpwright.tuning.task_runners.local, warpwright.tuning.supervised_toolchain
{more}
print([name for name in {names} if name in sys.modules])
"""


def loaded(more: str = "") -> str:
    program = PROGRAM.format(names=NATIVE, more=more)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_the_server_loads_no_solver_and_no_compiler() -> None:
    assert loaded() == "[]"


@pytest.mark.parametrize("name", ["z3", "ortools"])
def test_it_would_be_seen(name: str) -> None:
    assert name in loaded(f"import {name}")
