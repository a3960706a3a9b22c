"""What is known of each fitted number before any landscape is looked at: a value with its reason, and how far it may be off.

A prior is stated by a factor: a number is as likely to be ``factor`` times larger or smaller as one standard deviation says. No
landscape of ``benchmarks.ranking`` was used for these values; where a reason names a profile path, that path has its own source.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warpwright.solver.domain import HardwareProfile

__all__ = ["PRIORS", "Prior", "prior_values", "spreads"]


L2_BYTES_PER_CYCLE = 5120.0
"""NVIDIA A100 whitepaper, L2 read bandwidth; no number for later parts was found."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A number before the fit.

    ``value`` reads the profile, ``factor`` is one standard deviation as a ratio, ``low`` and ``high`` are physical limits.
    """

    unit: str
    low: float
    high: float
    value: Callable[[HardwareProfile], float]
    factor: float
    reason: str


def _known(path: str, unit: str, otherwise: float, times: float = 1.0) -> Callable[[HardwareProfile], float]:
    """A profile's number, or a neutral one where the profile says unknown."""

    def read(profile: HardwareProfile) -> float:
        return times * (profile.number(path, unit) if profile.has(path) else otherwise)

    return read


def _constant(value: float) -> Callable[[HardwareProfile], float]:
    return lambda profile: value


def _busy_tensor_core(profile: HardwareProfile) -> float:
    """What the idle draw leaves of the limit."""
    return 1.0 - (profile.number("model.power_static", "ratio") if profile.has("model.power_static") else 0.2)


def _between_l2_and_unit(profile: HardwareProfile) -> float:
    """Geometric mean of the bulk copy unit's own rate and of an SM's share of what L2 was built to deliver."""
    unit = profile.number("tma.bytes_per_cycle", "bytes/cycle") if profile.has("tma.bytes_per_cycle") else 128.0
    return math.sqrt(unit * L2_BYTES_PER_CYCLE / profile.number("sm.count", "count"))


PRIORS: dict[str, Prior] = {
    "model.fill_bytes_per_cycle": Prior(
        "bytes/cycle", 36, 120, _between_l2_and_unit, 1.4, "between tma.bytes_per_cycle and an SM's share of L2"
    ),
    "model.load_latency": Prior(
        "cycles", 500, 1500, _known("tma.latency", "cycles", 460, 2.0), 1.2, "tma.latency, doubled with all SMs loading"
    ),
    "model.gemm_overhead": Prior(
        "cycles", 1, 200, _known("wgmma.latency", "cycles", 64), 1.6, "fence, commit and wait around one product"
    ),
    "model.copy_bytes_per_cycle": Prior(
        "bytes/cycle", 40, 110, _constant(64), 1.2, "threads' loads go through an SM's 64 bytes a cycle of L1 fill"
    ),
    "model.stream_ratio": Prior(
        "ratio", 0.3, 1.0, _constant(0.75), 1.3, "one warp a scheduler, with little parallelism of its own"
    ),
    "model.alu_ratio": Prior(
        "ratio", 0.4, 1.0, _constant(0.75), 1.3, "half of the instructions at the full rate, half at half of it"
    ),
    "model.block_cycles": Prior(
        "cycles", 10, 3000, _constant(300), 3.0, "barrier set-up, descriptor fetch, first instructions"
    ),
    "model.serial_latency": Prior(
        "cycles", 20, 600, _constant(128), 2.0, "a 64x256x16 instruction alone is 128 cycles"
    ),
    "model.spill_cycles": Prior(
        "cycles", 4, 200, _constant(32), 2.5, "a warpgroup's register is 8 cycles of shared memory path; times 4"
    ),
    "model.phase": Prior("ratio", 0.05, 1.0, _constant(0.5), 1.5, "no reason for either end"),
    "model.sync_cycles": Prior(
        "cycles", 5, 200, _known("barriers.named_latency", "cycles", 30), 1.6, "barriers.named_latency"
    ),
    "model.arrive_cycles": Prior("cycles", 0.01, 0.4, _constant(0.1), 1.8, "arrivals of a warp merge in a few cycles"),
    "model.power_tensor": Prior("ratio", 0.2, 1.6, _busy_tensor_core, 1.2, "a busy tensor core reaches the limit"),
    "model.power_shared": Prior(
        "ratio", 0.02, 1.2, _constant(0.3), 1.6, "moving a byte on chip costs a fraction of multiplying it"
    ),
    "model.launch": Prior("ns", 500, 5000, _constant(2000), 2.0, "a launch takes microseconds"),
}


def prior_values(profile: HardwareProfile) -> dict[str, float]:
    """Every fitted number at its prior."""
    return {path: prior.value(profile) for path, prior in PRIORS.items()}


def spreads(names: Mapping[str, object] | list[str]) -> list[float]:
    """One standard deviation of each number's logarithm."""
    return [math.log(PRIORS[name].factor) for name in names]
