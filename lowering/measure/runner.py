"""The runner: check, time, check again, on any device behind the port. Runs inside the device's child."""

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from warpwright.lowering.compile.result import Argument, CompiledKernel
from warpwright.lowering.measure.check import REPEATS, CheckReport, check, compare_outputs, run_once
from warpwright.lowering.measure.device import Conditions, DevicePort, LaunchFailed, Loaded
from warpwright.lowering.measure.protocol import Protocol
from warpwright.lowering.measure.result import Measured, Rounds
from warpwright.lowering.measure.statistics import Summary, summary
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import Outcome

__all__ = ["MeasureJob", "OtherSize", "measure", "rounds"]


@dataclass(frozen=True, slots=True)
class OtherSize:
    """A job's schedule and its reference built for another size of the same kernel; ``name`` is shown to people."""

    name: str
    kernel: CompiledKernel
    reference: CompiledKernel


@dataclass(frozen=True, slots=True)
class MeasureJob:
    """One candidate: its build, the reference build of the same IR, and a time that no launch can beat (0: unknown).

    ``reference`` None: a library call that computes something else and is timed as a yardstick only, never a winner.
    ``expected_ns`` is the expected time of a launch (0: unknown); it only determines how long a launch may take before it counts
    as hanging. ``also`` has builds of the same schedule for other sizes: checked, not timed, so that a schedule
    that is correct only in one shape of waves does not pass.
    """

    candidate: str
    kernel: CompiledKernel
    reference: CompiledKernel | None
    floor_ns: float = 0.0
    also: tuple[OtherSize, ...] = ()
    expected_ns: float = 0.0


def measure(device: DevicePort, job: MeasureJob, protocol: Protocol) -> Measured:
    """Checks and times one candidate. Failures of the context or the device are raised, because they concern the whole process.

    Raises:
        KernelFaulted: the kernel broke the context; this process must end.
        DeviceLost: the device failed.
    """
    begun = time.monotonic()
    facts = device.facts()

    def end(outcome: StepOutcome, checks: Sequence[CheckReport] = (), parts: dict[str, Any] | None = None) -> Measured:
        return Measured(
            candidate=job.candidate,
            protocol=protocol.name,
            outcome=outcome,
            device=facts,
            checks=tuple(checks),
            waves=waves(job.kernel, facts.multiprocessors),
            binary_digest=job.kernel.binary_digest,
            seconds=time.monotonic() - begun,
            **(parts or {}),
        )

    if (other := _other_arch(job.kernel.arch, facts.arch)) is not None:
        return end(StepOutcome(Outcome.NOT_APPLICABLE, other, ("wrong-arch",)))
    arguments = job.kernel.arguments
    if job.reference is None:
        return end(StepOutcome(Outcome.MEASURED), parts=_yardstick(device, job, protocol))
    reference = _load_reference(device, job.reference, arguments, protocol)
    if isinstance(reference, StepOutcome):
        return end(reference)
    try:
        kernel = device.load(job.kernel)
        checks = [
            check(device, kernel, reference, arguments, seed, protocol, repeats=REPEATS) for seed in protocol.seeds[:1]
        ]
        if not checks[-1].fault:
            checks += [
                check(device, kernel, reference, arguments, seed, protocol, repeats=REPEATS)
                for seed in protocol.seeds[1:]
            ]
        if _first_fault(checks) is None:
            elsewhere = _other_sizes(device, job, protocol)
            if isinstance(elsewhere, StepOutcome):
                return end(elsewhere, checks)
            checks += elsewhere
    except LaunchFailed as error:
        return end(StepOutcome(Outcome.LAUNCH_FAILED, error.message, ("launch-failed",)))
    if (wrong := _first_fault(checks)) is not None:
        return end(StepOutcome(Outcome.WRONG_RESULT, wrong, ("before_timing",)), checks)
    timing = _timing(device, kernel, reference, job, protocol)
    checks += timing.checks
    if (wrong := _first_fault(timing.checks)) is not None:
        return end(StepOutcome(Outcome.WRONG_RESULT, wrong, ("after_timing",)), checks, timing.conditions())
    timed = {"summary": timing.summary, "flags": timing.flags, **timing.conditions()}
    return end(StepOutcome(Outcome.MEASURED), checks, timed)


def rounds(
    device: DevicePort,
    jobs: Sequence[MeasureJob],
    protocol: Protocol,
    on_round: Callable[[dict[str, float]], None] | None = None,
    *,
    screening: bool = False,
) -> Rounds:
    """Times candidates interleaved: every round visits all, in its own order, so that heat and neighbours affect all alike.

    Outputs are checked once more at the end, on the same binaries that were timed, unless this only chooses the finalists.
    """
    before = device.conditions()
    loaded = {job.candidate: device.load(job.kernel) for job in jobs}
    buffers = {
        arguments: device.inputs(arguments, protocol.final_seed) for arguments in {j.kernel.arguments for j in jobs}
    }
    figures: dict[str, list[float]] = {job.candidate: [] for job in jobs}
    if not protocol.rest_ms:
        for job in _order(
            jobs, -1
        ):  # the chip rested while the session was prepared: no candidate may be timed with this advantage
            device.warm_up(loaded[job.candidate], buffers[job.kernel.arguments], protocol.warmup_ms)
    for number in range(protocol.screening_rounds if screening else protocol.rounds):
        for job in _order(jobs, number):
            kernel, own = loaded[job.candidate], buffers[job.kernel.arguments]
            _rest(protocol)
            device.warm_up(kernel, own, protocol.round_warmup_ms)
            times = device.timed(kernel, own, protocol.runs_per_round, flush=protocol.flush_l2)
            figures[job.candidate].append(median(times))
        if on_round is not None:
            on_round({name: times[-1] for name, times in figures.items()})
    after = device.conditions()
    wrong = {}
    for job in jobs:
        if job.reference is None or screening:
            continue
        reference = device.load(job.reference)
        report = check(
            device, loaded[job.candidate], reference, job.kernel.arguments, protocol.final_seed + 1, protocol
        )
        if report.fault:
            wrong[job.candidate] = report.fault
    return Rounds(
        protocol=protocol.name,
        figures_ns={name: tuple(times) for name, times in figures.items()},
        before=before,
        after=after,
        contended=_contended(before, after),
        wrong=wrong,
    )


def _order(jobs: Sequence[MeasureJob], number: int) -> list[MeasureJob]:
    """The order of one round, the same in every run. Rotating one order would give each candidate the same predecessor:
    on an H200 at its power limit, a candidate after a light kernel was 10 % faster than alone, in every round.
    """
    return random.Random(number).sample(list(jobs), len(jobs))


def waves(kernel: CompiledKernel, multiprocessors: int) -> float | None:
    """How often the grid fills the device with one block per SM; None for a library call or an unknown device."""
    if kernel.launch is None or not multiprocessors:
        return None
    return math.prod(kernel.launch.grid) / multiprocessors


@dataclass(frozen=True, slots=True)
class _Timing:
    summary: Summary
    flags: tuple[str, ...]
    before: Conditions
    after: Conditions
    checks: tuple[CheckReport, ...]

    def conditions(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after}


def _timing(device: DevicePort, kernel: Loaded, reference: Loaded, job: MeasureJob, protocol: Protocol) -> _Timing:
    """Times, then checks the outputs of the timed launches and of fresh inputs."""
    arguments = job.kernel.arguments
    buffers = device.inputs(arguments, protocol.final_seed)
    expected = run_once(device, reference, buffers, salt=0)
    before = device.conditions()
    checks: list[CheckReport] = []
    flags: list[str] = []
    for attempt in range(2):
        device.poison(buffers, salt=3 + attempt)
        times = _sample(device, kernel, buffers, protocol)
        if not any(argument.access == "inout" for argument in arguments):
            left = device.outputs(buffers)
            checks.append(compare_outputs(device, left, expected, arguments, protocol.final_seed, protocol))
        checks.append(check(device, kernel, reference, arguments, protocol.final_seed + 1 + attempt, protocol))
        result = summary(times)
        if result.median_ns >= job.floor_ns or _first_fault(checks) is not None:
            break
    else:
        flags.append("implausible")
    after = device.conditions()
    if result.spread_ns > protocol.noise_limit * result.median_ns:
        flags.append("noisy")
    if _contended(before, after):
        flags.append("contended")
    return _Timing(result, tuple(flags), before, after, tuple(checks))


def _yardstick(device: DevicePort, job: MeasureJob, protocol: Protocol) -> dict[str, Any]:
    """Times a library call without a check."""
    kernel = device.load(job.kernel)
    buffers = device.inputs(job.kernel.arguments, protocol.final_seed)
    before = device.conditions()
    result = summary(_sample(device, kernel, buffers, protocol))
    after = device.conditions()
    flags = ("yardstick", "contended") if _contended(before, after) else ("yardstick",)
    return {"summary": result, "flags": flags, "before": before, "after": after}


def _sample(device: DevicePort, kernel: Loaded, buffers: object, protocol: Protocol) -> list[float]:
    """Runs until there are enough samples: by device time, between the protocol's minimum and maximum."""
    times: list[float] = []
    while len(times) < protocol.runs_maximum:
        if protocol.rest_ms or not times:
            _rest(protocol)
            device.warm_up(kernel, buffers, protocol.warmup_ms)
        batch = protocol.runs_per_round if protocol.rest_ms else 5 if times else protocol.runs_minimum
        times += device.timed(kernel, buffers, min(batch, protocol.runs_maximum - len(times)), flush=protocol.flush_l2)
        quiet = summary(times).spread_ns <= protocol.noise_limit * median(times)
        long_enough = protocol.rest_ms > 0 or sum(times) >= protocol.timed_ms * 1e6
        if quiet and long_enough and len(times) >= protocol.runs_minimum:
            break
    return times


def _rest(protocol: Protocol) -> None:
    """Leaves the device idle, if the protocol requires it."""
    if protocol.rest_ms:
        time.sleep(protocol.rest_ms / 1e3)


def _load_reference(
    device: DevicePort, reference: CompiledKernel, arguments: Sequence[Argument], protocol: Protocol
) -> Loaded | StepOutcome:
    """The loaded reference, or the reason why there is none: a failing reference is not the candidate's fault."""
    try:
        loaded = device.load(reference)
        buffers = device.inputs(arguments, protocol.seeds[0])
        first, second = (run_once(device, loaded, buffers, salt) for salt in (0, 1))
    except LaunchFailed as error:
        return StepOutcome(Outcome.REFERENCE_FAILED, error.message, ("launch-failed",))
    report = compare_outputs(device, first, second, arguments, protocol.seeds[0], protocol)
    if report.fault:
        return StepOutcome(Outcome.REFERENCE_FAILED, f"the reference disagrees with itself: {report.fault}")
    return loaded


def _other_sizes(device: DevicePort, job: MeasureJob, protocol: Protocol) -> list[CheckReport] | StepOutcome:
    """Checks at the other sizes with every seed, up to the first fault; an outcome if a reference fails there."""
    reports: list[CheckReport] = []
    for other in job.also:
        arguments = other.kernel.arguments
        reference = _load_reference(device, other.reference, arguments, protocol)
        if isinstance(reference, StepOutcome):
            return replace(reference, message=f"at {other.name}: {reference.message}")
        kernel = device.load(other.kernel)
        filled = waves(other.kernel, device.facts().multiprocessors)
        for seed in protocol.seeds:
            report = check(device, kernel, reference, arguments, seed, protocol)
            reports.append(replace(report, size=other.name, waves=filled))
            if report.fault:
                return reports
    return reports


def _first_fault(checks: Sequence[CheckReport]) -> str | None:
    """The first fault with its seed, and its size if that is not the tuned one."""
    for report in checks:
        if report.fault:
            return f"{report.fault} (seed {report.seed}{f', at {report.size}' if report.size else ''})"
    return None


def _contended(*seen: Conditions) -> bool:
    """Whether another process worked on the device, or may have; an idle context takes no time."""
    return any(conditions.foreign_processes and conditions.foreign_busy_percent != 0 for conditions in seen)


def _other_arch(built_for: str, device: str) -> str | None:
    """Why a binary cannot run on this device: architecture-specific code runs on exactly its own compute capability."""
    digits = "".join(filter(str.isdigit, built_for)), "".join(filter(str.isdigit, device))
    if built_for.startswith("library") or digits[0] == digits[1]:
        return None
    return f"built for {built_for}, but the device is {device}"
