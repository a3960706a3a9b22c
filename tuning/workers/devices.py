"""A worker's devices: which profile each one is of, and so which queues of measurements it can serve."""

from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.lowering.measure.device import DeviceMissing
from warpwright.solver.profiles import builtin_profiles, load_profile
from warpwright.tuning.measure.devices import Devices, FoundDevice, matches
from warpwright.tuning.task_runners.queues import measuring

__all__ = ["devices_for"]

EVERY = "measure"


def devices_for(
    capabilities: Sequence[str], options: Sequence[Mapping[str, Any]] | None = None
) -> tuple[tuple[str, ...], dict[str, FoundDevice]]:
    """The capabilities, ``measure`` written out for every device that answers, and the device of each ``measure.<profile>``.

    Raises:
        DeviceMissing: a measuring capability was named, and this machine has no device of that profile.
    """
    prefix = measuring("")
    if not any(each == EVERY or each.startswith(prefix) for each in capabilities):
        return tuple(capabilities), {}
    here = Devices([dict(each) for each in options] if options is not None else None).all()
    # A device belongs to the built-in profile that describes it, and to any uploaded one of the same name and architecture.
    known = {
        measuring(name): device for name in builtin_profiles() for device in here if matches(device, load_profile(name))
    }
    wanted: list[str] = []
    for capability in capabilities:
        if capability == EVERY:
            wanted += known or [EVERY]
        else:
            wanted.append(capability)
        if capability.startswith(prefix) and capability not in known:
            seen = ", ".join(str(device.facts.get("name")) for device in here) or "none"
            message = f"this machine has no device of profile {capability.removeprefix(prefix)!r}; it has {seen}"
            raise DeviceMissing(message, place=capability)
    if EVERY in wanted:
        raise DeviceMissing("no device of this machine matches a built-in profile", place=EVERY)
    return tuple(dict.fromkeys(wanted)), {each: known[each] for each in wanted if each in known}
