"""Interleaving: each round visits all, and who comes before whom changes from round to round."""

from collections import Counter
from itertools import pairwise
from typing import Any

from warpwright.lowering.measure.protocol import GPU_1
from warpwright.lowering.measure.runner import MeasureJob, rounds
from warpwright.lowering.testing.device import SimulatedDevice, simulated_kernel

NAMES = ("light", "a", "b", "c", "d", "e")
JOBS = [MeasureJob(name, simulated_kernel(name), simulated_kernel("reference")) for name in NAMES]
DEVICE = {"kernels": {name: {"ns": 3_000_000} for name in (*NAMES, "reference")}}


class Watched(SimulatedDevice):
    """Remembers what was timed, in order."""

    def __init__(self) -> None:
        super().__init__(DEVICE)
        self.timed_names: list[str] = []
        self.warmed_before: int = 0

    def timed(self, kernel: Any, buffers: Any, runs: int, *, flush: bool) -> list[float]:
        self.timed_names.append(kernel.name)
        return super().timed(kernel, buffers, runs, flush=flush)

    def warm_up(self, kernel: Any, buffers: Any, milliseconds: float) -> None:
        self.warmed_before += not self.timed_names
        super().warm_up(kernel, buffers, milliseconds)


def visits() -> list[str]:
    device = Watched()
    rounds(device, JOBS, GPU_1)
    return device.timed_names


def test_nobody_profits_from_the_same_neighbour_in_most_rounds() -> None:
    """A kernel that draws little power leaves the next one a faster chip: no candidate may always be that next one."""
    order = visits()
    assert len(order) == GPU_1.rounds * len(NAMES)
    for begin in range(0, len(order), len(NAMES)):
        assert sorted(order[begin : begin + len(NAMES)]) == sorted(NAMES)
    after_light = Counter(after for before, after in pairwise(order) if before == "light")
    assert max(after_light.values()) <= GPU_1.rounds / 2
    assert len(after_light) >= len(NAMES) - 1
    first = Counter(order[begin] for begin in range(0, len(order), len(NAMES)))
    assert max(first.values()) <= GPU_1.rounds / 2


def test_all_run_once_untimed_before_the_first_is_timed() -> None:
    device = Watched()
    rounds(device, JOBS, GPU_1)
    assert device.warmed_before == len(JOBS) + 1


def test_two_runs_take_the_same_order() -> None:
    assert visits() == visits()
