"""HardwareProfile: every number of a device with its unit, origin and source.

A quantity is read by its exact path *and* unit, so that bytes never pass for KiB. An unknown value is written as unknown
and raises an error if a rule needs it; nothing is guessed.
"""

from dataclasses import dataclass
from enum import StrEnum

from warpwright.solver.domain.errors import ProfileError
from warpwright.solver.domain.kernel import TargetFamily

__all__ = ["HardwareProfile", "Origin", "Quantity"]


class Origin(StrEnum):
    """Where a number comes from: vendor documents, a query or measurement, a derivation, a fit, a reference, the user."""

    VENDOR = "vendor"
    MEASURED = "measured"
    DERIVED = "derived"
    FITTED = "fitted"
    REFERENCE = "reference"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a device. ``value`` None means unknown; flags are quantities of unit ``flag`` with value 0 or 1."""

    path: str
    value: int | float | None
    unit: str
    origin: Origin
    source: str
    conditions: str = ""


@dataclass(frozen=True, slots=True)
class HardwareProfile:
    """A device: ``name``, the compiler's ``arch`` (``sm_90a``), the family, and its quantities by dotted path."""

    name: str
    title: str
    family: TargetFamily
    arch: str
    quantities: tuple[Quantity, ...]
    digest: str

    def quantity(self, path: str) -> Quantity:
        """The quantity at a path; ProfileError ``profile-missing-number`` when the document does not have it."""
        for quantity in self.quantities:
            if quantity.path == path:
                return quantity
        raise ProfileError(f"profile {self.name!r} has no number {path!r}", code="profile-missing-number", place=path)

    def number(self, path: str, unit: str) -> float:
        """The known value at a path in exactly this unit.

        Raises ProfileError: ``profile-missing-number``, ``profile-wrong-unit`` or ``profile-unknown-number``.
        """
        quantity = self.quantity(path)
        if quantity.unit != unit:
            raise ProfileError(
                f"profile {self.name!r} gives {path!r} in {quantity.unit!r}, not in {unit!r}",
                code="profile-wrong-unit",
                place=path,
            )
        if quantity.value is None:
            raise ProfileError(
                f"profile {self.name!r} says {path!r} is unknown: {quantity.source}",
                code="profile-unknown-number",
                place=path,
            )
        return quantity.value

    def integer(self, path: str, unit: str) -> int:
        """As :meth:`number`, for whole numbers; ProfileError ``profile-not-whole`` otherwise."""
        value = self.number(path, unit)
        if value != int(value):
            raise ProfileError(f"{path!r} must be a whole number, not {value}", code="profile-not-whole", place=path)
        return int(value)

    def has(self, path: str) -> bool:
        """Whether the document has this path with a known value."""
        return any(q.path == path and q.value is not None for q in self.quantities)

    def flag(self, path: str) -> bool:
        """A capability flag; missing or unknown counts as absent."""
        return self.has(path) and self.integer(path, "flag") == 1
