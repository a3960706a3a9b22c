"""A device whose launches have deadlines: the parent knows how long each may take, and ends a child that takes longer.

A kernel that never returns blocks its process inside the driver, where nothing in that process could end it. It costs
the others its deadline and one restart, so the deadline follows from what is known: about a second or two for a launch about
which nothing is known, more if the kernel is known to be slow.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from warpwright.lowering.compile.result import Argument, CompiledKernel
from warpwright.lowering.emit import expect, within
from warpwright.lowering.measure.device import (
    Buffers,
    Conditions,
    DeviceFacts,
    DevicePort,
    KernelFaulted,
    Loaded,
    OutputComparison,
)

__all__ = ["FIRST_SECONDS", "SLACK", "WatchedDevice", "named"]

FIRST_SECONDS = 2.0
"""Minimum deadline of any batch of launches: for loading the code at the first launch, and for a busy host."""

SLACK = 20.0
"""A launch may take this many times its expected time by a forecast, the roofline or an earlier launch."""

LAUNCHES_AT_ONCE = 5
"""A warm-up synchronises after at most this many launches, and so ends at most this many launches late."""


def named(kernel: CompiledKernel) -> str:
    """The name of a kernel in a deadline: its binary's digest, because candidates of one session may share a build."""
    return kernel.binary_digest or kernel.binary or ""


@contextmanager
def _blaming(name: str) -> Iterator[None]:
    """Adds the running kernel to a context failure."""
    try:
        yield
    except KernelFaulted as error:
        raise KernelFaulted(error.message, place=name or None) from error


class WatchedDevice:
    """Implements the device port around another device. ``expected_ns`` gives times of one launch by :func:`named`."""

    def __init__(self, device: DevicePort, expected_ns: Mapping[str, float]) -> None:
        self._device = device
        self._expected = dict(expected_ns)
        self._names: dict[int, tuple[str, Loaded]] = {}
        self._started: list[str] = []
        self._since = 0.0

    def facts(self) -> DeviceFacts:
        """As the device."""
        return self._device.facts()

    def conditions(self) -> Conditions:
        """As the device."""
        return self._device.conditions()

    def canary(self) -> bool:
        """As the device."""
        return self._device.canary()

    def load(self, kernel: CompiledKernel) -> Loaded:
        """As the device; keeps the kernel's name, and the kernel itself so that no other gets its address."""
        loaded = self._device.load(kernel)
        self._names[id(loaded)] = (named(kernel), loaded)
        return loaded

    def inputs(self, arguments: Sequence[Argument], seed: int) -> Buffers:
        """As the device."""
        return self._device.inputs(arguments, seed)

    def poison(self, buffers: Buffers, salt: int) -> None:
        """As the device."""
        self._device.poison(buffers, salt)

    def launch(self, kernel: Loaded, buffers: Buffers) -> None:
        """One launch; its deadline runs until :meth:`synchronize`, without what was queued before it."""
        if not self._started:
            self._device.synchronize()
            self._since = time.monotonic()
        self._started.append(self._name(kernel))
        expect(sum(self.seconds(name, 1) for name in self._started), self._started[-1])
        try:
            self._device.launch(kernel, buffers)
        except Exception:
            self._over()
            raise

    def synchronize(self) -> None:
        """Waits for all work under its deadline, and records how long it took."""
        name = self._started[-1] if self._started else ""
        try:
            with _blaming(name):
                self._device.synchronize()
            if name:
                self._learn(name, (time.monotonic() - self._since) / len(self._started))
        finally:
            self._over()

    def outputs(self, buffers: Buffers) -> Any:
        """As the device."""
        return self._device.outputs(buffers)

    def differing(self, found: Any, expected: Any) -> int:
        """As the device."""
        return self._device.differing(found, expected)

    def compare(
        self, found: Any, expected: Any, arguments: Sequence[Argument], block: int
    ) -> tuple[OutputComparison, ...]:
        """As the device."""
        return self._device.compare(found, expected, arguments, block)

    def warm_up(self, kernel: Loaded, buffers: Buffers, milliseconds: float) -> None:
        """As the device, under a deadline."""
        name = self._name(kernel)
        with within(self.seconds(name, LAUNCHES_AT_ONCE) + milliseconds / 1e3, name), _blaming(name):
            self._device.warm_up(kernel, buffers, milliseconds)

    def timed(self, kernel: Loaded, buffers: Buffers, runs: int, *, flush: bool) -> list[float]:
        """As the device, under a deadline."""
        name = self._name(kernel)
        with within(self.seconds(name, runs), name), _blaming(name):
            return self._device.timed(kernel, buffers, runs, flush=flush)

    def seconds(self, name: str, launches: int) -> float:
        """How long this many launches may take."""
        return FIRST_SECONDS + SLACK * launches * self._expected.get(name, 0.0) / 1e9

    def _name(self, kernel: Loaded) -> str:
        return self._names[id(kernel)][0]

    def _learn(self, name: str, seconds: float) -> None:
        self._expected[name] = max(self._expected.get(name, 0.0), seconds * 1e9)

    def _over(self) -> None:
        if self._started:
            expect(None)
        self._started = []
