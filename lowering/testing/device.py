"""A simulated device behind the same port: scripted times, faults, clocks and neighbours, no GPU and no torch.

Kernels are named by ``binary="sim:NAME"``; ``options["kernels"][NAME]`` describes the behaviour. A binary may also be a file that
begins with ``MAGIC``, followed by its behaviour as JSON: so it travels to a worker like a real one.

``ns``        base time of a launch              ``noise``   relative spread of times (default 0)
``wrong``     value, corner, nan, left, right (writes one half only), late (right for ten launches)
``special``   its output has a NaN, an infinity and the largest floats in the places of a reference with the same word (true);
              ``nan`` where that has an infinity, ``finite`` where that has a NaN
``fault``     refused, illegal, lost, hang, segfault, killed (as by somebody outside; with a file ``once``, the first time only)
``after``     launches after which the fault begins (default 0)
``load_seconds``  time that loading takes (default 0)
Of the device: ``foreign`` processes seen, ``foreign_busy`` percent that they work, ``drift`` relative slow-down per
launch, ``canary`` (ok, wrong, hang), ``arch``,
``floor`` none. Values are computed from the seed, so reference and candidate agree unless told otherwise.
"""

import ctypes
import json
import math
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from warpwright.lowering.compile.result import Argument, CompiledKernel, Launch
from warpwright.lowering.measure.device import (
    Conditions,
    DeviceFacts,
    DeviceLost,
    KernelFaulted,
    LaunchFailed,
    OutputComparison,
    relative,
)
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import CandidateKind, Outcome

__all__ = ["MAGIC", "PREFIX", "SimulatedDevice", "simulated_kernel"]

PREFIX = "sim:"

MAGIC = b"\x7fSTAND-IN "
"""First bytes of a file with a simulated kernel."""

ELEMENTS = 2048
"""Elements of every simulated output, whatever its shape."""

LATE = 90
"""Launches after which a ``late`` kernel goes wrong."""


def simulated_kernel(name: str, *, dtype: str = "bfloat16", arch: str = "sm_90a") -> CompiledKernel:
    """A build for the simulated device: one input, one output."""
    arguments = (Argument("A", dtype, (ELEMENTS,), "in"), Argument("C", dtype, (ELEMENTS,), "out"))
    launch = Launch(name, (264, 1, 1), 384, 1, 0, 0)
    compiled = StepOutcome(Outcome.COMPILED)
    digest = f"sim:{name}"
    return CompiledKernel(
        CandidateKind.SCHEDULED,
        arch,
        compiled,
        binary=PREFIX + name,
        binary_digest=digest,
        arguments=arguments,
        launch=launch,
    )


@dataclass(slots=True)
class _Buffers:
    arguments: tuple[Argument, ...]
    seed: int
    output: list[float]
    salt: int = 0


@dataclass(slots=True)
class _Loaded:
    name: str
    script: dict[str, Any]
    launches: int = 0
    noise: random.Random = field(default_factory=random.Random)


class SimulatedDevice:
    """See the module's docstring."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._loaded: dict[str, _Loaded] = {}
        self._launches = 0
        self._pending: Exception | None = None

    def facts(self) -> DeviceFacts:
        """A device of 132 multiprocessors, called ``name`` where that is given."""
        arch, name = str(self._options.get("arch", "sm_90")), str(self._options.get("name", "simulated"))
        return DeviceFacts(name, arch, 0, "sim-0", 132, 1 << 37, 50 << 20, "0", {"simulated": "1"})

    def conditions(self) -> Conditions:
        """Clock falls with the drift; neighbours as scripted."""
        clock = int(1980 / (1 + self._drift()))
        foreign, busy = self._options.get("foreign", 0), self._options.get("foreign_busy")
        return Conditions(clock, 3201, 400.0, 700.0, 50, (), foreign, foreign_busy_percent=busy)

    def canary(self) -> bool:
        """As scripted."""
        told = self._options.get("canary", "ok")
        if told == "hang":
            time.sleep(3600)
        return bool(told == "ok")

    def load(self, kernel: CompiledKernel) -> _Loaded:
        """Finds the script of a kernel."""
        name = (kernel.binary or "").removeprefix(PREFIX)
        script = self._options.get("kernels", {}).get(name) or _script_in(name)
        if script.get("fault") == "refused":
            raise LaunchFailed("the driver refuses 262144 bytes of shared memory", place=name)
        if name not in self._loaded:
            time.sleep(float(script.get("load_seconds", 0.0)))
        noise = random.Random(f"{self._options.get('seed', 1)} {script.get('of', name)}")
        return self._loaded.setdefault(name, _Loaded(name, script, noise=noise))

    def inputs(self, arguments: Sequence[Argument], seed: int) -> _Buffers:
        """Inputs are the seed itself."""
        return _Buffers(tuple(arguments), seed, [math.nan] * ELEMENTS)

    def poison(self, buffers: _Buffers, salt: int) -> None:
        """NaN, or a pattern by salt for integers."""
        floating = "float" in buffers.arguments[-1].dtype
        buffers.output = [math.nan if floating else 85.0 + 17 * salt] * ELEMENTS

    def launch(self, kernel: _Loaded, buffers: _Buffers) -> None:
        """Writes the output at once; faults show at :meth:`synchronize`, as on a real device."""
        kernel.launches += 1
        self._launches += 1
        fault = kernel.script.get("fault") if kernel.launches > kernel.script.get("after", 0) else None
        if fault == "illegal":
            self._pending = KernelFaulted("CUDA error 700 CUDA_ERROR_ILLEGAL_ADDRESS")
        elif fault == "lost":
            self._pending = DeviceLost("CUDA error 214 CUDA_ERROR_ECC_UNCORRECTABLE")
        elif fault == "hang":
            time.sleep(3600)
        elif fault == "segfault":
            ctypes.string_at(0)
        elif fault == "killed" and not (once := Path(kernel.script.get("once", "/"))).is_file():
            if once != Path("/"):
                once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        buffers.output = _spoilt(_special(_right(buffers.seed), kernel), buffers.output, kernel)

    def synchronize(self) -> None:
        """Raises the error of a launch; the context stays broken."""
        if self._pending is not None:
            raise self._pending

    def outputs(self, buffers: _Buffers) -> list[list[float]]:
        """A copy."""
        return [list(buffers.output)]

    def differing(self, found: list[list[float]], expected: list[list[float]]) -> int:
        """As on a real device: NaN is itself."""
        pairs = [pair for ours, theirs in zip(found, expected, strict=True) for pair in zip(ours, theirs, strict=True)]
        return sum(a != b and not (math.isnan(a) and math.isnan(b)) for a, b in pairs)

    def compare(
        self, found: Any, expected: Any, arguments: Sequence[Argument], block: int
    ) -> tuple[OutputComparison, ...]:
        """As on a real device, on lists."""
        ours, theirs = found[0], expected[0]
        pairs = list(zip(ours, theirs, strict=True))
        unwritten = sum(math.isfinite(b) and not math.isfinite(a) for a, b in pairs)
        special = sum(not math.isfinite(b) and a != b and not (math.isnan(a) and math.isnan(b)) for a, b in pairs)
        differences = [a - b if math.isfinite(a) and math.isfinite(b) else 0.0 for a, b in pairs]
        size = math.hypot(*(b for b in theirs if math.isfinite(b)))
        worst = max(math.hypot(*differences[start : start + block]) for start in range(0, len(differences), block))
        typical = size * math.sqrt(min(block, len(ours)) / len(ours))
        written = next(argument for argument in arguments if argument.access != "in")
        errors = relative(math.hypot(*differences), size), relative(worst, typical)
        return (OutputComparison(written.name, written.dtype, *errors, unwritten, special),)

    def warm_up(self, kernel: _Loaded, buffers: _Buffers, milliseconds: float) -> None:
        """A few launches; time is simulated."""
        for _ in range(3):
            self.launch(kernel, buffers)
        self.synchronize()

    def timed(self, kernel: _Loaded, buffers: _Buffers, runs: int, *, flush: bool) -> list[float]:
        """Scripted times with noise and drift."""
        times = []
        for _ in range(runs):
            self.launch(kernel, buffers)
            noise = kernel.noise.gauss(0, float(kernel.script.get("noise", 0.0)))
            times.append(float(kernel.script.get("ns", 1000.0)) * (1 + noise) * (1 + self._drift()))
        self.synchronize()
        return times

    def _drift(self) -> float:
        return float(self._options.get("drift", 0.0)) * self._launches


def _script_in(binary: str) -> dict[str, Any]:
    """The behaviour in a file with a simulated kernel; the default behaviour for any other."""
    path = Path(binary)
    data = path.read_bytes() if path.is_file() else b""
    script: dict[str, Any] = json.loads(data.removeprefix(MAGIC)) if data.startswith(MAGIC) else {}
    return script


@lru_cache(maxsize=16)
def _right(seed: int) -> list[float]:
    """The correct output for these inputs. It must not be changed in place."""
    values = random.Random(seed)
    return [values.uniform(-1, 1) for _ in range(ELEMENTS)]


def _special(right: list[float], kernel: _Loaded) -> list[float]:
    """The output with special values in its first elements, if the script says so."""
    told = kernel.script.get("special")
    if not told:
        return right
    first = 0.5 if told == "finite" else math.nan
    second = math.nan if told == "nan" else math.inf
    return [first, second, -math.inf, sys.float_info.max, -sys.float_info.max, *right[5:]]


def _spoilt(right: list[float], before: list[float], kernel: _Loaded) -> list[float]:
    """The output as this kernel writes it, over the old content."""
    half = len(right) // 2
    match kernel.script.get("wrong"):
        case "value":
            return [value * 1.1 for value in right]
        case "corner":
            return [value + 1.0 if place < 8 else value for place, value in enumerate(right)]
        case "nan":
            return [math.nan, *right[1:]]
        case "left":
            return right[:half] + before[half:]
        case "right":
            return before[:half] + right[half:]
        case "drifts":
            return [value * (1 + 1e-6 * kernel.launches) for value in right]
        case "late" if kernel.launches > LATE:
            return [value * 1.1 for value in right]
        case _:
            return right
