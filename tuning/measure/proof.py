"""What a measurement must prove before it is believed, wherever it comes from: a session here, on a worker, or a document.

The binary is the one that was built, the device is the profile's, outputs were checked before and after, by the numbers that the
checks hold, and no time is below what the device can do. A time that lacks one of these is no time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from warpwright.lowering.measure.check import CheckReport
from warpwright.lowering.measure.device import DeviceFacts
from warpwright.lowering.measure.protocol import PROTOCOLS, Protocol
from warpwright.lowering.measure.result import Measured, Rounds
from warpwright.lowering.measure.statistics import Summary
from warpwright.solver.domain import HardwareProfile, Outcome

__all__ = ["KnownBuild", "matches", "unproven", "unproven_rounds"]

SLACK = 1e-9
"""Relative; of numbers that went through text."""


@dataclass(frozen=True, slots=True)
class KnownBuild:
    """What whoever built a candidate knows of it: which binary it is, for which device, and what no launch can beat."""

    binary_digest: str
    profile: HardwareProfile
    floor_ns: float = 0.0


def matches(name: str, arch: str, profile: HardwareProfile) -> bool:
    """Whether a device's name and architecture are the profile's."""
    plain = name.lower().replace(" ", "")
    return bool(arch) and profile.arch.startswith(arch) and profile.name.lower() in plain


def unproven(measured: Measured, build: KnownBuild) -> str:
    """What a measurement that may win does not prove; empty if it proves everything, or has no time that may win."""
    if measured.outcome.kind is not Outcome.MEASURED or not measured.eligible or measured.summary is None:
        return ""
    protocol = PROTOCOLS.get(measured.protocol)
    if protocol is None:
        return f"there is no protocol {measured.protocol[:80]!r}"
    return next(_gaps(measured, measured.summary, build, protocol), "")


def unproven_rounds(rounds: Rounds, builds: Mapping[str, KnownBuild]) -> str:
    """What interleaved rounds do not prove; empty if they prove their figures."""
    protocol = PROTOCOLS.get(rounds.protocol)
    if protocol is None:
        return f"there is no protocol {rounds.protocol[:80]!r}"
    for name, figures in rounds.figures_ns.items():
        floor = builds[name].floor_ns if name in builds else 0.0
        if len(figures) != protocol.rounds:
            return f"{name} took part in {len(figures)} rounds, {protocol.name} has {protocol.rounds}"
        if not all(isfinite(time) and time > 0 for time in figures) or _below(min(figures), floor):
            return f"a time of {name} in the rounds is none, or below {floor:.0f} ns, which no launch can beat"
    return ""


def _gaps(measured: Measured, summary: Summary, build: KnownBuild, protocol: Protocol) -> Iterator[str]:
    if not build.binary_digest or measured.binary_digest != build.binary_digest:
        yield f"it was measured as {measured.binary_digest or 'no binary'}, and built as {build.binary_digest or 'none'}"
    yield from _device_gaps(measured.device, build.profile)
    yield from _check_gaps([check for check in measured.checks if not check.size], protocol)
    yield from (gap for check in measured.checks if (gap := _fault(check, protocol)))
    order = (summary.minimum_ns, summary.p10_ns, summary.median_ns, summary.p90_ns)
    if not all(isfinite(time) and time > 0 for time in order) or any(
        _below(later, earlier) for earlier, later in pairwise(order)
    ):
        yield "its times contradict each other"
    if summary.count < protocol.runs_minimum:
        yield f"it was timed in {summary.count} launches, {protocol.name} asks for {protocol.runs_minimum}"
    if _below(summary.median_ns, build.floor_ns):
        yield f"{summary.median_ns:.0f} ns is below {build.floor_ns:.0f} ns, which no launch on this device can beat"


def _device_gaps(device: DeviceFacts | None, profile: HardwareProfile) -> Iterator[str]:
    if device is None:
        yield "it names no device"
    elif not matches(device.name, device.arch, profile):
        yield f"it was taken on {device.name!r} ({device.arch}), and the profile is {profile.name} ({profile.arch})"


def _check_gaps(checks: list[CheckReport], protocol: Protocol) -> Iterator[str]:
    """Whether outputs were checked with all seeds before the timing, and with a fresh one after it."""
    seeds = {check.seed for check in checks if check.comparisons}
    if missing := [seed for seed in protocol.seeds if seed not in seeds]:
        yield f"its outputs were not checked with the seeds {', '.join(map(str, missing))}"
    if not {protocol.final_seed + 1, protocol.final_seed + 2} & seeds:
        yield "its outputs were not checked after the timing"


def _fault(check: CheckReport, protocol: Protocol) -> str:
    """What is wrong with the outputs of a check, by its numbers."""
    for one in check.comparisons:
        limit = protocol.tolerance(one.dtype)
        within = one.relative_error <= limit and one.worst_block_error <= limit * protocol.block_factor
        if one.unwritten or one.special or not within:
            return f"its output {one.argument} was wrong with seed {check.seed}"
    if check.reproducible and check.agreed < check.launches:
        return f"{check.launches - check.agreed} launches with seed {check.seed} differed from the first"
    return check.fault


def _below(time: float, floor: float) -> bool:
    return time < floor * (1 - SLACK)
