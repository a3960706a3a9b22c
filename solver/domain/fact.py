"""A number that a family computes for a problem or a schedule: what is used, the limit, and who holds it."""

from dataclasses import dataclass

__all__ = ["Fact"]


@dataclass(frozen=True, slots=True)
class Fact:
    """``used`` of ``limit`` in ``unit``; ``limit`` None means unlimited. ``holders`` add up to ``used``."""

    resource: str
    used: int
    limit: int | None
    unit: str
    holders: tuple[tuple[str, int], ...] = ()
    note: str = ""

    @property
    def slack(self) -> int | None:
        """What is left; negative if it does not fit."""
        return None if self.limit is None else self.limit - self.used

    def __str__(self) -> str:
        held = ", ".join(f"{who} {amount:,}" for who, amount in self.holders)
        limit = "" if self.limit is None else f" of {self.limit:,}"
        text = f"{self.resource}: {self.used:,}{limit} {self.unit}"
        return text + (f" ({held})" if held else "") + (f"; {self.note}" if self.note else "")
