"""Checks of a finished profile: permitted paths, units, ranges, required numbers, and numbers that contradict each other.

They run on every profile, from TOML or from JSON, so that no later stage meets a unit it does not know, a number that
overflows a solver's integers, or a device without a register file.
"""

import math
from collections.abc import Mapping

from warpwright.solver.domain.errors import ProfileError
from warpwright.solver.domain.kernel import TargetFamily
from warpwright.solver.domain.profile import HardwareProfile, Quantity
from warpwright.solver.profiles.schema import UNIT_LIMITS, WHOLE_UNITS, Need, entries, entry_at

__all__ = ["check_numbers", "check_quantity"]

_ORDERED: dict[TargetFamily, tuple[tuple[str, str], ...]] = {
    TargetFamily.CUDA: (
        ("shared.per_block", "shared.per_sm"),
        ("shared.static_limit", "shared.per_block"),
        ("block.max_registers", "sm.registers"),
        ("barriers.named_available", "barriers.named"),
        ("setmaxnreg.minimum", "setmaxnreg.maximum"),
        ("tensor_memory.minimum_columns", "tensor_memory.columns"),
        ("sm.clock_tensor_peak", "sm.clock_boost"),
        ("l2.persisting_bytes", "l2.bytes"),
    ),
    TargetFamily.ASCEND: (
        ("ub.bytes_with_simt", "ub.bytes"),
        ("ub.reserved", "ub.bytes"),
        ("l1.reserved", "l1.bytes"),
    ),
}
"""Pairs of numbers where the first may not be larger than the second."""

_MAY_BE_ZERO = frozenset({"l1.reserved", "ub.reserved", "shared.reserved_per_block", "wgmma.issue", "wgmma.latency"})


def check_quantity(quantity: Quantity, family: TargetFamily) -> None:
    """One number against the schema.

    Raises:
        ProfileError: ``profile-unknown-key``, ``profile-wrong-unit``, ``profile-missing-source``, ``profile-not-finite``,
            ``profile-negative``, ``profile-zero``, ``profile-out-of-range`` or ``profile-not-whole``, with the path.
    """
    entry = entry_at(family, quantity.path)
    if entry is None:
        raise _refusal(quantity, "profile-unknown-key", f"is not a number of a {family.value} profile")
    if quantity.unit != entry.unit:
        message = f"is in {entry.unit!r}, not in {quantity.unit!r}"
        raise _refusal(quantity, "profile-wrong-unit", message)
    if not quantity.source.strip():
        raise _refusal(
            quantity, "profile-missing-source", "has no source: say where the number, or its absence, comes from"
        )
    if quantity.value is None:
        return
    value = quantity.value
    if isinstance(value, float) and not math.isfinite(value):
        raise _refusal(quantity, "profile-not-finite", f"must be a finite number, not {value}")
    if value < 0:
        raise _refusal(quantity, "profile-negative", "may not be negative")
    limit = UNIT_LIMITS[entry.unit]
    if value > limit:
        raise _refusal(quantity, "profile-out-of-range", f"is over {limit:g} {entry.unit}, which no device has")
    if entry.unit in WHOLE_UNITS and value != int(value):
        raise _refusal(quantity, "profile-not-whole", f"counts {entry.unit}, so {value} makes no sense")
    if value == 0 and entry.unit != "flag" and quantity.path not in _MAY_BE_ZERO and not _is_model(quantity.path):
        raise _refusal(quantity, "profile-zero", 'may not be zero; write "unknown" if it is not known')


def check_numbers(profile: HardwareProfile) -> None:
    """All numbers of a profile together: each legal, none twice, the required ones present, none contradicting another.

    Raises:
        ProfileError: as :func:`check_quantity`, and ``profile-duplicate-number``, ``profile-missing-number``,
            ``profile-unknown-number`` or ``profile-inconsistent``.
    """
    by_path: dict[str, Quantity] = {}
    for quantity in profile.quantities:
        check_quantity(quantity, profile.family)
        if quantity.path in by_path:
            raise _refusal(quantity, "profile-duplicate-number", "is given twice")
        by_path[quantity.path] = quantity
    _check_required(by_path, profile.family)
    for smaller, larger in _ORDERED[profile.family]:
        low, high = by_path.get(smaller), by_path.get(larger)
        if low is None or high is None or low.value is None or high.value is None:
            continue
        if low.value > high.value:
            message = f"is {low.value:g}, more than {larger} = {high.value:g}"
            raise _refusal(low, "profile-inconsistent", message)


def _check_required(by_path: Mapping[str, Quantity], family: TargetFamily) -> None:
    for entry in entries(family):
        if entry.need is Need.OPTIONAL or (entry.when and not _is_set(by_path.get(entry.when))):
            continue
        found = by_path.get(entry.path)
        because = f" (because {entry.when} = 1)" if entry.when else ""
        if found is None:
            message = f"{entry.path!r} in {entry.unit} is missing{because}: {entry.meaning}"
            raise ProfileError(message, code="profile-missing-number", place=entry.path)
        if found.value is None and entry.need is Need.KNOWN:
            message = f"{entry.path!r} may not be unknown{because}: {entry.meaning}"
            raise ProfileError(message, code="profile-unknown-number", place=entry.path)


def _is_set(flag: Quantity | None) -> bool:
    return flag is not None and flag.value == 1


def _is_model(path: str) -> bool:
    return path.startswith("model.")


def _refusal(quantity: Quantity, code: str, message: str) -> ProfileError:
    return ProfileError(f"{quantity.path!r} {message}", code=code, place=quantity.path)
