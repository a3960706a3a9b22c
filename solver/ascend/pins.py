"""Forms of the Ascend pins: buffer versions, index modes, manual rings, unlimited memories (seeds/ascend_annotations.txt).

A :class:`BufferPin` stands for one entry: ``versions`` 1 without a mode opts the storage out; ``versions`` >= 2 fixes the count;
both fields together are ``(n, mode)`` and keep eligibility also for 1; ``mode`` alone leaves the count to the solver;
``manual_versions`` declares a ring that the user indexes by hand.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from warpwright.solver.domain import BufferPin, PinError, Pins
from warpwright.solver.profiles.pin_domains import MODES, UNLIMITED_SCOPES, check_buffer_form

__all__ = ["buffer_pin", "checked_pins", "manual_pin", "merged_pins", "opted_out"]


def buffer_pin(buffer: str, specification: Any) -> BufferPin:
    """A pin from one value of an ``annotate_buffer_versions`` map: ``1``, ``n``, ``(n, mode)`` or ``mode``.

    JSON has no tuples: a list of two is accepted, too.

    Raises:
        PinError: ``pin-version-form``, ``pin-version-count`` or ``pin-version-mode``.
    """
    if isinstance(specification, tuple | list):
        if len(specification) != 2:
            raise PinError(
                f"versions of {buffer!r}: a pair is (count, mode), not {specification!r}",
                code="pin-version-form",
                place=buffer,
            )
        return BufferPin(buffer, _count(buffer, specification[0]), _mode(buffer, specification[1]))
    if isinstance(specification, str):
        return BufferPin(buffer, None, _mode(buffer, specification))
    return BufferPin(buffer, _count(buffer, specification))


def manual_pin(buffer: str, shape: tuple[int | None, ...], versions: Any = None) -> BufferPin:
    """A pin of a manual ring: a bare buffer uses its leading dimension, which must be constant.

    Raises:
        PinError: ``pin-manual-shape`` or ``pin-manual-count``.
    """
    if versions is None:
        leading = shape[0] if shape else None
        if leading is None:
            raise PinError(
                f"{buffer!r} has no constant leading dimension to take the ring size from; give it explicitly",
                code="pin-manual-shape",
                place=buffer,
            )
        versions = leading
    if isinstance(versions, bool) or not isinstance(versions, int) or versions < 1:
        raise PinError(
            f"ring size of {buffer!r} must be a whole number from 1, not {versions!r}",
            code="pin-manual-count",
            place=buffer,
        )
    return BufferPin(buffer, manual_versions=versions)


def opted_out(pin: BufferPin) -> bool:
    """Whether the pin removes the storage from multi-buffering: the count 1 without a mode."""
    return pin.versions == 1 and pin.mode is None


def checked_pins(pins: Pins, shapes: Mapping[str, tuple[int, ...]]) -> Pins:
    """The pins, if every buffer exists and every form is legal; two pins of one storage are merged if they agree.

    Raises:
        PinError: with a code per error and the buffer as place.
    """
    merged: dict[str, BufferPin] = {}
    for pin in pins.buffers:
        if pin.buffer not in shapes:
            known = ", ".join(sorted(shapes)) or "none"
            raise PinError(
                f"there is no on-chip buffer {pin.buffer!r}; choose from {known}",
                code="pin-unknown-buffer",
                place=pin.buffer,
            )
        check_buffer_form(pin, pin.buffer)
        merged[pin.buffer] = _merge(merged[pin.buffer], pin) if pin.buffer in merged else pin
    for scope in pins.unlimited_memories:
        if scope not in UNLIMITED_SCOPES:
            raise PinError(
                f"{scope!r} cannot be unlimited; one of {', '.join(UNLIMITED_SCOPES)} can",
                code="pin-unlimited-scope",
                place=scope,
            )
    unlimited = tuple(dict.fromkeys(pins.unlimited_memories))
    return replace(pins, buffers=tuple(merged.values()), unlimited_memories=unlimited)


def merged_pins(source: Pins, asked: Pins) -> Pins:
    """The source's annotations, overridden field by field by the request."""
    table = {pin.buffer: pin for pin in source.buffers}
    for pin in asked.buffers:
        check_buffer_form(pin, pin.buffer)
        table[pin.buffer] = pin if pin.buffer not in table or opted_out(pin) else _over(table[pin.buffer], pin)
    unlimited = tuple(dict.fromkeys([*source.unlimited_memories, *asked.unlimited_memories]))
    return replace(asked, buffers=tuple(table.values()), unlimited_memories=unlimited)


def _over(old: BufferPin, new: BufferPin) -> BufferPin:
    return BufferPin(
        old.buffer,
        old.versions if new.versions is None else new.versions,
        old.mode if new.mode is None else new.mode,
        old.manual_versions if new.manual_versions is None else new.manual_versions,
    )


def _merge(old: BufferPin, new: BufferPin) -> BufferPin:
    for field in ("versions", "mode", "manual_versions"):
        a, b = getattr(old, field), getattr(new, field)
        if a is not None and b is not None and a != b:
            raise PinError(
                f"aliases of one storage need one {field.replace('_', ' ')}: {a} and {b} for {old.buffer!r}",
                code="pin-alias-conflict",
                place=old.buffer,
            )
    return _over(old, new)


def _count(buffer: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PinError(
            f"version count of {buffer!r} must be a whole number from 1, not {value!r}",
            code="pin-version-count",
            place=buffer,
        )
    return value


def _mode(buffer: str, value: Any) -> str:
    if value not in MODES:
        raise PinError(
            f"version mode of {buffer!r} must be one of {', '.join(MODES)}, not {value!r}",
            code="pin-version-mode",
            place=buffer,
        )
    return str(value)
