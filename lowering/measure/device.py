"""The device port: what the runner needs from a GPU, an NPU or a simulation. One process, one device, one caller."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from warpwright.lowering.compile.result import Argument, CompiledKernel
from warpwright.solver.domain.errors import WarpwrightError

__all__ = [
    "Buffers",
    "Conditions",
    "DeviceFacts",
    "DeviceLost",
    "DeviceMissing",
    "DevicePort",
    "KernelFaulted",
    "LaunchFailed",
    "Loaded",
    "OutputComparison",
    "relative",
]

Loaded = Any
"""A loaded kernel; only the device that loaded it knows what it is."""

Buffers = Any
"""Device memory of one set of arguments; only the device knows what it is."""


class DeviceMissing(WarpwrightError):
    """There is no such device, driver or library here; the message names what is missing."""

    code = "device-missing"


class LaunchFailed(WarpwrightError):
    """The driver refused the kernel; the device is unchanged."""

    code = "launch-failed"


class KernelFaulted(WarpwrightError):
    """The kernel broke the context (illegal address, trap, ...): this process can no longer be used, but the device can."""

    code = "kernel-faulted"


class DeviceLost(WarpwrightError):
    """The device itself failed: memory error, off the bus, driver gone."""

    code = "device-lost"


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Properties that do not change while measuring. ``arch`` is the base architecture, ``sm_90`` for compute capability 9.0."""

    name: str
    arch: str
    index: int
    uuid: str
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int
    driver: str
    software: dict[str, str]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What does change. None where the device does not say; ``foreign_processes`` None when it cannot be known."""

    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    power_watts: float | None = None
    power_limit_watts: float | None = None
    temperature_celsius: int | None = None
    throttle: tuple[str, ...] = ()
    foreign_processes: int | None = None
    foreign: tuple[str, ...] = ()
    """A description of those processes, as far as the driver knows them."""
    foreign_busy_percent: int | None = None
    """How busy they kept the multiprocessors since the previous conditions; 0 for an idle context, None if the
    driver does not say."""


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """Difference of one output from the reference: relative error in norm, of the whole and of the worst block.

    ``unwritten`` counts elements that still hold the poison, or are not finite where the reference is; ``special`` those that are
    NaN or infinite in the reference and something else here. Where both are NaN, or the same infinity, they are equal. Errors
    are finite: the largest float stands for one that is larger.
    """

    argument: str
    dtype: str
    relative_error: float
    worst_block_error: float
    unwritten: int
    special: int = 0


def relative(error: float, size: float) -> float:
    """An error divided by the size of its quantity, or itself if that is 0; never more than the largest float, never NaN."""
    value = error / size if size else error
    return value if value <= sys.float_info.max else sys.float_info.max


class DevicePort(Protocol):
    """See the module's docstring. Launches are asynchronous; errors may surface at :meth:`synchronize` only."""

    def facts(self) -> DeviceFacts:
        """What the device is."""
        ...

    def conditions(self) -> Conditions:
        """Clocks, power, temperature and other processes, now."""
        ...

    def canary(self) -> bool:
        """Runs a small computation with a known result on the device; False if it is wrong."""
        ...

    def load(self, kernel: CompiledKernel) -> Loaded:
        """Loads a shared object (or a library call); LaunchFailed if the driver refuses its resources."""
        ...

    def inputs(self, arguments: Sequence[Argument], seed: int) -> Buffers:
        """Fresh buffers for all arguments, inputs drawn from ``seed``, outputs poisoned."""
        ...

    def poison(self, buffers: Buffers, salt: int) -> None:
        """Fills outputs with NaN (or a pattern that depends on ``salt``), and restores arguments that are read and written."""
        ...

    def launch(self, kernel: Loaded, buffers: Buffers) -> None:
        """Starts the kernel once; LaunchFailed if the driver refuses at once."""
        ...

    def synchronize(self) -> None:
        """Waits for all work; KernelFaulted or DeviceLost by the driver's error number."""
        ...

    def outputs(self, buffers: Buffers) -> Any:
        """A copy of the outputs."""
        ...

    def differing(self, found: Any, expected: Any) -> int:
        """Elements of two copies that are not the same bit by bit."""
        ...

    def compare(
        self, found: Any, expected: Any, arguments: Sequence[Argument], block: int
    ) -> tuple[OutputComparison, ...]:
        """Differences of two copies, one for each output."""
        ...

    def warm_up(self, kernel: Loaded, buffers: Buffers, milliseconds: float) -> None:
        """Launches back to back for about this long."""
        ...

    def timed(self, kernel: Loaded, buffers: Buffers, runs: int, *, flush: bool) -> list[float]:
        """Device times in nanoseconds of ``runs`` launches, the L2 cache flushed before each."""
        ...
