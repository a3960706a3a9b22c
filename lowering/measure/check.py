"""Correctness before time: a candidate's outputs against those of the same IR built without any specialisation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpwright.lowering.compile.result import Argument
from warpwright.lowering.measure.device import Buffers, DevicePort, Loaded, OutputComparison
from warpwright.lowering.measure.protocol import Protocol

__all__ = ["REPEATS", "CheckReport", "check", "compare_outputs"]

REPEATS = 6
"""Additional launches on the inputs of each seed before a candidate is timed."""
BUSY = 3
"""Launches without a wait in front of each of them."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Outcome of one check with one set of inputs. ``fault`` is empty if the outputs agree within the tolerance.

    ``size`` names another size than the tuned one, ``waves`` how often that one's grid fills the device.
    """

    seed: int
    comparisons: tuple[OutputComparison, ...]
    fault: str = ""
    size: str = ""
    waves: float | None = None
    launches: int = 1
    """Launches of the candidate on these inputs."""
    agreed: int = 1
    """How many of them, including the first, gave exactly the outputs of the first."""
    reproducible: bool = True
    """False where launches may differ: the kernel adds to what it reads (atomics do so in any order), or the reference differs
    from itself. Then disagreement is reported but not a failure, as long as each launch is within the tolerance."""


def check(
    device: DevicePort,
    kernel: Loaded,
    reference: Loaded,
    arguments: Sequence[Argument],
    seed: int,
    protocol: Protocol,
    *,
    repeats: int = 0,
) -> CheckReport:
    """Runs reference and candidate on the same fresh inputs, outputs poisoned before each, and compares.

    The candidate runs twice with two poisons: an element that it never writes shows in one of them, in integers too. Then it
    runs ``repeats`` more times, each time on a device that its other launches keep busy: a race shows as launches of one
    input that differ, long before it is as large as a tolerance.
    """
    buffers = device.inputs(arguments, seed)
    expected = run_once(device, reference, buffers, salt=0)
    first = run_once(device, kernel, buffers, 1)
    report = compare_outputs(device, first, expected, arguments, seed, protocol)
    if report.fault:
        return report
    steady = not any(argument.access == "inout" for argument in arguments)
    steady = steady and not (repeats and device.differing(run_once(device, reference, buffers, salt=1), expected))
    agreed = 1
    for number in range(1 + repeats):
        for _ in range(BUSY if number else 0):
            device.launch(kernel, buffers)
        found = run_once(device, kernel, buffers, 2 + number)
        same = not device.differing(found, first)
        agreed += same
        if not same or number == 0:
            report = compare_outputs(device, found, expected, arguments, seed, protocol)
            if report.fault:
                return replace(report, launches=2 + number, agreed=agreed, reproducible=steady)
    report = replace(report, launches=2 + repeats, agreed=agreed, reproducible=steady)
    if steady and repeats and agreed < report.launches:
        fault = (
            f"{report.launches - agreed} of {report.launches} launches of one input differ from the first bit by bit"
        )
        return replace(report, fault=fault)
    return report


def run_once(device: DevicePort, kernel: Loaded, buffers: Buffers, salt: int) -> object:
    """One launch into poisoned outputs; returns a copy of them."""
    device.poison(buffers, salt)
    device.launch(kernel, buffers)
    device.synchronize()
    copy: object = device.outputs(buffers)
    return copy


def compare_outputs(
    device: DevicePort,
    found: object,
    expected: object,
    arguments: Sequence[Argument],
    seed: int,
    protocol: Protocol,
) -> CheckReport:
    """Compares every output with the tolerance of its dtype, in norm over all of it and over every block."""
    comparisons = device.compare(found, expected, arguments, protocol.block_elements)
    for one in comparisons:
        limit = protocol.tolerance(one.dtype)
        if one.unwritten:
            return CheckReport(seed, comparisons, f"{one.argument}: {one.unwritten} elements unwritten or not finite")
        if one.special:
            fault = f"{one.argument}: {one.special} elements differ where the reference is NaN or infinite"
            return CheckReport(seed, comparisons, fault)
        if not one.relative_error <= limit:
            fault = (
                f"{one.argument}: relative error {one.relative_error:.2e}, but {limit:.1e} is allowed for {one.dtype}"
            )
            return CheckReport(seed, comparisons, fault)
        if not one.worst_block_error <= limit * protocol.block_factor:
            fault = f"{one.argument}: a block differs by {one.worst_block_error:.2e} of the output's own size"
            return CheckReport(seed, comparisons, fault)
    return CheckReport(seed, comparisons)
