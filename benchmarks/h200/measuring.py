"""Measures what was built, with the library calls in the same rounds, through the product's own session."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.h200.building import Built
from benchmarks.h200.problems import Problem
from warpwright.lowering.compile import CompiledKernel
from warpwright.lowering.measure import GPU_1, Measured, MeasureJob, Protocol, yardstick
from warpwright.solver.domain import CandidateKind, HardwareProfile
from warpwright.tuning.measure import MeasureReport, measure_all

__all__ = ["floor_ns", "measure_problem"]


def measure_problem(
    problem: Problem,
    built: Sequence[Built],
    device: dict[str, Any],
    profile: HardwareProfile,
    *,
    seconds: float,
    cancel: threading.Event,
    on_result: Callable[[Measured], None] | None = None,
    protocol: Protocol = GPU_1,
) -> MeasureReport:
    """One session: baselines and library calls first, then candidates by forecast; the fastest of every group meets in rounds."""
    usable = [one for one in built if one.kernel is not None and not one.failure]
    reference = next((one.kernel for one in usable if one.plan.kind is CandidateKind.UNSPECIALIZED), None)
    if reference is None:
        return MeasureReport((), partial=True)
    if device["kind"] == "simulated":
        usable = [replace_binary(one) for one in usable]
        reference = simulated(reference, "reference")
    floor = floor_ns(problem, profile)
    libraries = [MeasureJob(name, yardstick(name, reference.arguments), None) for name in problem.yardsticks]
    ordered = sorted(usable, key=lambda one: (one.plan.kind is CandidateKind.SCHEDULED, one.plan.forecast_ns or 0.0))
    jobs = [MeasureJob(one.plan.id, kernel, reference, floor) for one in ordered if (kernel := one.kernel) is not None]
    kinds = {(one.plan.kind, one.plan.options) for one in usable if one.plan.kind is not CandidateKind.UNSPECIALIZED}
    groups = [[one.plan.id for one in usable if (one.plan.kind, one.plan.options) == kind] for kind in sorted(kinds)]
    return measure_all(
        [*libraries, *jobs],
        device,
        protocol=protocol,
        always_final=problem.yardsticks,
        groups=groups,
        baselines=[one.plan.id for one in usable if one.plan.kind is not CandidateKind.SCHEDULED],
        budget_seconds=seconds,
        cancel=cancel,
        on_result=on_result,
    )


def floor_ns(problem: Problem, profile: HardwareProfile) -> float:
    """The time at the tensor cores' full rate and highest clock, of the profile: no launch can beat it."""
    rate = (
        2.0
        * profile.number("tensor_core.bf16_macs_per_cycle", "MACs/cycle")
        * profile.number("sm.count", "count")
        * profile.number("sm.clock_boost", "MHz")
        * 1e6
    )
    return 0.95 * problem.flops / rate * 1e9


def replace_binary(one: Built) -> Built:
    """For the simulated device: its kernels are names."""
    assert one.kernel is not None
    return replace(one, kernel=simulated(one.kernel, one.plan.id))


def simulated(kernel: CompiledKernel, name: str) -> CompiledKernel:
    """A kernel of the simulated device with this name."""
    return replace(kernel, binary=f"sim:{name}", binary_digest=f"sim:{name}")
