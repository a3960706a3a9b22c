"""What a tuning asks for: variants of one kernel, a device, pins and a budget. Plain values, no database, no HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pydantic import JsonValue

from warpwright.lowering.compile.options import BuildOption
from warpwright.solver.domain import HardwareProfile, Pins

__all__ = ["Effort", "Size", "TuneBudget", "TuneRequest", "Variant"]


class Effort(StrEnum):
    """Named budgets, for users who do not want to choose numbers."""

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"


@dataclass(frozen=True, slots=True)
class TuneBudget:
    """How much a tuning may spend.

    ``candidates`` counts proposed schedules; the compiler's own choices (baselines) are extra. ``work_limit``
    is the deterministic limit of one solve in the engine's own units, so that the same request gives the same answer;
    ``wall_seconds`` bounds the whole job.
    """

    candidates: int = 8
    wall_seconds: float = 600.0
    work_limit: int = 20_000
    solve_seconds: float = 60.0
    compile_seconds: float = 300.0
    measure_seconds: float = 60.0

    @classmethod
    def preset(cls, effort: Effort) -> "TuneBudget":
        """The budget behind an effort name."""
        return _PRESETS[effort]

    def limited(self, *, candidates: int | None = None, wall_seconds: float | None = None) -> "TuneBudget":
        """A copy with the given numbers in place of its own."""
        return replace(
            self,
            candidates=self.candidates if candidates is None else candidates,
            wall_seconds=self.wall_seconds if wall_seconds is None else wall_seconds,
        )


_PRESETS = {
    Effort.QUICK: TuneBudget(candidates=3, wall_seconds=120.0, work_limit=5_000, solve_seconds=20.0),
    Effort.NORMAL: TuneBudget(),
    Effort.THOROUGH: TuneBudget(candidates=32, wall_seconds=3600.0, work_limit=200_000, solve_seconds=300.0),
}


@dataclass(frozen=True, slots=True)
class Size:
    """A variant at another size, such as fewer blocks than multiprocessors or a ragged tail. ``name`` is shown to people."""

    name: str
    ir: str


@dataclass(frozen=True, slots=True)
class Variant:
    """One member of a kernel family: the parameters it was made with and its IR (``tvm.ir.save_json`` text of a PrimFunc).

    A winner of this variant is checked at ``sizes`` before it is delivered; sizes with the same name belong together.
    """

    ir: str
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    sizes: tuple[Size, ...] = ()


@dataclass(frozen=True, slots=True)
class TuneRequest:
    """One tuning. A single kernel is a kernel family of one variant; the first variant is the user's default."""

    name: str
    variants: tuple[Variant, ...]
    profile: HardwareProfile
    pins: Pins = field(default_factory=Pins)
    engine: str = "cpsat"
    seed: int = 0
    budget: TuneBudget = field(default_factory=TuneBudget)
    build_options: tuple[BuildOption, ...] = ()
    """Options that change how kernels round; they apply to every build of this tuning, including the reference."""
    measure: bool = True
    """Time the candidates if a device of this profile is available; False compiles only."""
