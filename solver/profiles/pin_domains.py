"""The legal values of each field of a pin on a device, checked when the document is read: one typed domain per field.

The legal values follow from the hardware profile; what exists in one kernel (operations, buffers, roles with work) is
checked when the kernel is read. The error for a value outside its domain names the place, the value and the legal values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from warpwright.solver.domain.documents import load
from warpwright.solver.domain.errors import DocumentError, PinError
from warpwright.solver.domain.kernel import TargetFamily
from warpwright.solver.domain.pins import BufferPin, Pins
from warpwright.solver.domain.profile import HardwareProfile

__all__ = [
    "MODES",
    "UNLIMITED_SCOPES",
    "WholeNumbers",
    "check_buffer_form",
    "check_pin_domains",
    "domain_of",
    "load_pins",
]

MODES = ("auto", "iteration", "counter")
"""Index modes of a buffer's versions: ``T.annotate_buffer_versions`` of TileLang 0.1.15, ``ascend/language/annotations.py``."""
UNLIMITED_SCOPES = ("shared", "shared.l1", "shared.l0c", "shared.l0a", "shared.l0b")
"""What ``T.annotate_unlimit_memory`` takes."""
WARP_THREADS = 32
WARPGROUP_THREADS = 128
VERSION_BYTES = 16
"""A version of a pipeline has a full and an empty mbarrier of 8 bytes each (PTX ISA, mbarrier object: 64 bits)."""
COUNTS = {"versions": "pin-version-count", "manual_versions": "pin-manual-count"}
ROLE_FIELDS = ("warps_lo", "warps_hi", "registers_per_thread")
CUDA_FIELDS = (
    *("roles", "placements", "pipelines", "depths", "stages"),
    *("consumer_warpgroups", "store_role", "merged_pipelines", "software_pipelining"),
)
ASCEND_FIELDS = ("buffers", "unlimited_memories")


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """Whole numbers from ``least`` to ``most`` in steps, and single further ones, in ``unit``."""

    least: int
    most: int
    unit: str
    step: int = 1
    beside: tuple[int, ...] = ()

    def holds(self, value: int) -> bool:
        """Whether the value is legal."""
        return value in self.beside or (self.least <= value <= self.most and (value - self.least) % self.step == 0)

    def __str__(self) -> str:
        beside = "".join(f"{value} or " for value in self.beside)
        if self.least > self.most:
            return beside.removesuffix(" or ") or "no value"
        steps = f" in steps of {self.step}" if self.step > 1 else ""
        return f"{beside}{self.least:,} to {self.most:,}{steps} ({self.unit})"


def domain_of(field: str, profile: HardwareProfile) -> WholeNumbers:
    """The domain of a whole-number field on a device.

    Args:
        field: ``warps_lo``, ``warps_hi``, ``registers_per_thread``, ``depth``, ``stage``, ``consumer_warpgroups``,
            ``versions`` or ``manual_versions``.
        profile: the device.

    Raises:
        KeyError: no pin has this field. ProfileError: the profile lacks the limit.
    """
    if field in ("versions", "manual_versions"):
        return WholeNumbers(1, _most_versions(profile), "versions")
    threads = profile.integer("block.max_threads", "threads")
    if field == "warps_lo":
        return WholeNumbers(0, threads // WARP_THREADS - 1, "warps")
    if field == "warps_hi":
        return WholeNumbers(1, threads // WARP_THREADS, "warps")
    if field == "consumer_warpgroups":
        return WholeNumbers(1, threads // WARPGROUP_THREADS, "warpgroups of 128 threads")
    if field == "registers_per_thread":
        return _registers(profile)
    versions = profile.integer("shared.per_block", "bytes") // VERSION_BYTES
    return {
        "depth": WholeNumbers(1, versions, "versions"),
        "stage": WholeNumbers(0, versions - 1, "iterations"),
    }[field]


def check_pin_domains(pins: Pins, profile: HardwareProfile, place: str = "") -> None:
    """Refuse pins that no kernel can keep on this device.

    Args:
        pins: the requested pins.
        profile: the device.
        place: JSON pointer of the pins document inside the request; empty for a separate document.

    Raises:
        PinError: ``pin-out-of-domain`` with the legal set, ``pin-empty``, ``pin-repeated``, ``pin-range``,
            ``pin-not-for-cuda``, ``pin-not-for-ascend``, or a code of a buffer pin's form; the place is a JSON pointer.
    """
    cuda = profile.family is TargetFamily.CUDA
    _check_family(pins, cuda, place)
    if cuda:
        for field, value, where in _whole_numbers(pins, place):
            domain = domain_of(field, profile)
            if not domain.holds(value):
                raise PinError(
                    f"{field} of {value} is not possible on {profile.name}; allowed: {domain}",
                    code="pin-out-of-domain",
                    place=where,
                )
        _check_forms(pins, place)
        return
    for number, pin in enumerate(pins.buffers):
        _check_buffer(pin, profile, f"{place}/buffers/{number}")
    for number, scope in enumerate(pins.unlimited_memories):
        if scope not in UNLIMITED_SCOPES:
            raise PinError(
                f"{scope!r} cannot be unlimited; one of {', '.join(UNLIMITED_SCOPES)} can",
                code="pin-unlimited-scope",
                place=f"{place}/unlimited_memories/{number}",
            )


def check_buffer_form(pin: BufferPin, where: str) -> None:
    """Refuse a buffer pin whose parts contradict each other, whatever the device.

    Raises:
        PinError: ``pin-empty``, ``pin-version-count``, ``pin-manual-count``, ``pin-version-mode`` or
            ``pin-manual-and-automatic``.
    """
    if all(getattr(pin, field.name) is None for field in fields(BufferPin) if field.name != "buffer"):
        raise PinError(f"the pin of {pin.buffer!r} fixes nothing", code="pin-empty", place=where)
    for field, code in COUNTS.items():
        value = getattr(pin, field)
        if value is not None and value < 1:
            message = f"{field} of {pin.buffer!r} must be a whole number from 1, not {value}"
            raise PinError(message, code=code, place=where)
    if pin.mode is not None and pin.mode not in MODES:
        raise PinError(
            f"version mode of {pin.buffer!r} must be one of {', '.join(MODES)}, not {pin.mode!r}",
            code="pin-version-mode",
            place=f"{where}/mode",
        )
    if pin.manual_versions is not None and (pin.versions is not None or pin.mode is not None):
        raise PinError(
            f"{pin.buffer!r} is a ring indexed by hand and cannot have automatic versions too",
            code="pin-manual-and-automatic",
            place=where,
        )


def load_pins(document: Any, profile: HardwareProfile, place: str = "") -> Pins:
    """Pins from JSON values, each in its domain on this device; no pins for None.

    Raises:
        DocumentError: not a pins document. PinError: as :func:`check_pin_domains`.
    """
    if document is None:
        return Pins()
    try:
        pins: Pins = load(Pins, document)
    except DocumentError as error:
        raise DocumentError(error.message, code=error.code, place=place + (error.place or "")) from error
    check_pin_domains(pins, profile, place)
    return pins


def _check_family(pins: Pins, cuda: bool, place: str) -> None:
    empty = Pins()
    for field in ASCEND_FIELDS if cuda else CUDA_FIELDS:
        if getattr(pins, field) != getattr(empty, field):
            mine, other = ("CUDA", "Ascend") if cuda else ("Ascend", "CUDA")
            legal = ", ".join(CUDA_FIELDS if cuda else ASCEND_FIELDS)
            raise PinError(
                f"{field} is a pin of {other} kernels; on {mine} devices there are {legal}",
                code=f"pin-not-for-{mine.lower()}",
                place=f"{place}/{field}",
            )


def _whole_numbers(pins: Pins, place: str) -> Iterator[tuple[str, int, str]]:
    """Every whole number of CUDA pins: its field, its value, and its place."""
    for number, role in enumerate(pins.roles):
        for field in ROLE_FIELDS:
            value = getattr(role, field)
            if value is not None:
                yield field, value, f"{place}/roles/{number}/{field}"
    for number, depth in enumerate(pins.depths):
        yield "depth", depth.depth, f"{place}/depths/{number}/depth"
    for number, stage in enumerate(pins.stages):
        yield "stage", stage.stage, f"{place}/stages/{number}/stage"
    if pins.consumer_warpgroups is not None:
        yield "consumer_warpgroups", pins.consumer_warpgroups, f"{place}/consumer_warpgroups"


def _check_forms(pins: Pins, place: str) -> None:
    for number, role in enumerate(pins.roles):
        where = f"{place}/roles/{number}"
        if all(getattr(role, field) is None for field in ROLE_FIELDS):
            raise PinError(f"the pin of role {role.role!r} fixes nothing", code="pin-empty", place=where)
        if role.warps_lo is not None and role.warps_hi is not None and role.warps_lo >= role.warps_hi:
            raise PinError(
                f"warps {role.warps_lo} to {role.warps_hi} (not included) contain no warp; warps_hi must be larger",
                code="pin-range",
                place=where,
            )
    for number, pipeline in enumerate(pins.pipelines):
        where = f"{place}/pipelines/{number}/buffers"
        if not pipeline.buffers:
            raise PinError("a pipeline without buffers; name at least one", code="pin-empty", place=where)
        if len(set(pipeline.buffers)) < len(pipeline.buffers):
            raise PinError("a buffer is named twice in one pipeline; name it once", code="pin-repeated", place=where)


def _check_buffer(pin: BufferPin, profile: HardwareProfile, where: str) -> None:
    for field, code in COUNTS.items():
        value, domain = getattr(pin, field), domain_of(field, profile)
        if value is not None and not domain.holds(value):
            raise PinError(
                f"{field} of {pin.buffer!r} cannot be {value}; allowed: {domain}", code=code, place=f"{where}/{field}"
            )
    check_buffer_form(pin, where)


def _registers(profile: HardwareProfile) -> WholeNumbers:
    """Budgets of ``setmaxnreg``, and 0 for none; only 0 if the device has no such instruction."""
    if not profile.flag("features.setmaxnreg"):
        return WholeNumbers(1, 0, "registers per thread", beside=(0,))
    step = profile.integer("setmaxnreg.step", "registers") if profile.has("setmaxnreg.step") else 8
    least, most = (profile.integer(f"setmaxnreg.{end}", "registers") for end in ("minimum", "maximum"))
    return WholeNumbers(least, most, "registers per thread", step, beside=(0,))


def _most_versions(profile: HardwareProfile) -> int:
    """Versions of the smallest storage that the largest on-chip memory holds."""
    memories = [scope for scope in ("ub", "l1", "l0a", "l0b", "l0c") if profile.has(f"{scope}.bytes")]
    return max(
        profile.integer(f"{scope}.bytes", "bytes") // profile.integer(f"{scope}.alignment", "bytes")
        for scope in memories
    )
