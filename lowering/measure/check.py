"""Correctness before time: a candidate's outputs against those of the same IR built without any specialisation."""

from collections.abc import Sequence
from dataclasses import dataclass

from warpwright.lowering.compile.result import Argument
from warpwright.lowering.measure.device import Buffers, Comparison, Device, Loaded
from warpwright.lowering.measure.protocol import Protocol

__all__ = ["CheckReport", "check", "compare_outputs"]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Outcome of one check with one set of inputs. ``fault`` is empty when the outputs agree within the tolerance.

    ``size`` names another size than the tuned one, ``waves`` how often that one's grid fills the device.
    """

    seed: int
    comparisons: tuple[Comparison, ...]
    fault: str = ""
    size: str = ""
    waves: float | None = None


def check(
    device: Device,
    kernel: Loaded,
    reference: Loaded,
    arguments: Sequence[Argument],
    seed: int,
    protocol: Protocol,
) -> CheckReport:
    """Runs reference and candidate on the same fresh inputs, outputs poisoned before each, and compares.

    The candidate runs twice with two poisons: an element that it never writes shows in one of them, in integers too.
    """
    buffers = device.inputs(arguments, seed)
    expected = run_once(device, reference, buffers, salt=0)
    for salt in (1, 2):
        report = compare_outputs(device, run_once(device, kernel, buffers, salt), expected, arguments, seed, protocol)
        if report.fault:
            return report
    return report


def run_once(device: Device, kernel: Loaded, buffers: Buffers, salt: int) -> object:
    """One launch into poisoned outputs; a copy of them."""
    device.poison(buffers, salt)
    device.launch(kernel, buffers)
    device.synchronize()
    copy: object = device.outputs(buffers)
    return copy


def compare_outputs(
    device: Device,
    found: object,
    expected: object,
    arguments: Sequence[Argument],
    seed: int,
    protocol: Protocol,
) -> CheckReport:
    """Holds every output to the tolerance of its dtype, in norm over all of it and over every block."""
    comparisons = device.compare(found, expected, arguments, protocol.block_elements)
    for one in comparisons:
        limit = protocol.tolerance(one.dtype)
        if one.unwritten:
            return CheckReport(seed, comparisons, f"{one.argument}: {one.unwritten} elements unwritten or not finite")
        if one.special:
            fault = f"{one.argument}: {one.special} elements differ where the reference is NaN or infinite"
            return CheckReport(seed, comparisons, fault)
        if not one.relative_error <= limit:
            fault = f"{one.argument}: relative error {one.relative_error:.2e}, {limit:.1e} is allowed for {one.dtype}"
            return CheckReport(seed, comparisons, fault)
        if not one.worst_block_error <= limit * protocol.block_factor:
            fault = f"{one.argument}: a block differs by {one.worst_block_error:.2e} of the output's own size"
            return CheckReport(seed, comparisons, fault)
    return CheckReport(seed, comparisons)
