"""What the proof of a schedule covers: of which loop, for which tile, and over which values of each choice of a schedule.

A lower bound may hold for every legal schedule of a kernel (a unit is busy for so long, whatever the schedule), or only for some:
those of one width, of one placement of operations in roles, or those that the user's pins allow. A schedule that meets its
bound is called optimal without a qualifier only in the first case.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from warpwright.solver.domain.bound import Bound

__all__ = ["Choice", "Covered", "LeftOut", "ProofScope", "Why"]


class Choice(StrEnum):
    """A choice of a schedule that a proof ranges over, or does not."""

    WIDTH = "width"
    """Consumer warpgroups."""
    PLACEMENT = "placement"
    """Which role runs which operation."""
    ORDER = "order"
    """The order of each role's body, and the stage offsets in it."""
    PIPELINES = "pipelines"
    """Which buffers share a pipeline, and the depth of each."""
    REGISTERS = "registers"
    """Warp ranges and register budgets of roles."""
    VERSIONS = "versions"
    """Ascend: version counts and index modes of buffers."""


class Why(StrEnum):
    """Why a proof leaves values out."""

    PINNED = "pinned"
    """The user fixed another value."""
    BUDGET = "budget"
    """The budget ended before they were decided."""
    NOT_SEARCHED = "not searched"
    """The search does not offer them."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Values of a choice that a proof says nothing about."""

    what: str
    why: Why


@dataclass(frozen=True, slots=True)
class Covered:
    """One choice: what the schedule has, and the values that its bound holds for."""

    choice: Choice
    chosen: str
    every: bool = True
    """Whether the bound holds for every legal value."""
    over: tuple[str, ...] = ()
    """The values that it holds for, in words; empty if it holds for every one."""
    left_out: tuple[LeftOut, ...] = ()
    """The values that it does not hold for; empty if it holds for every one."""


@dataclass(frozen=True, slots=True)
class ProofScope:
    """What a certificate's bound holds for. ``loop`` and ``tile`` are the kernel's own: another tile is another kernel."""

    loop: str
    """Loop whose interval the certificate is about; empty if the kernel has none."""
    tile: str
    """The tile of the loop's largest matrix product; empty if it has none."""
    choices: tuple[Covered, ...] = field(default=())
    anywhere: Bound | None = None
    """The bound of every legal schedule; None if the certificate's own bound is one."""

    @property
    def every(self) -> bool:
        """Whether the bound holds for every legal schedule of the kernel."""
        return all(covered.every for covered in self.choices)

    @property
    def within_pins(self) -> bool:
        """Whether the bound holds for every legal schedule that keeps the user's pins."""
        return all(left.why is Why.PINNED for covered in self.choices for left in covered.left_out)
