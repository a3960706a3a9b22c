"""Build options: named choices of how a whole job is built that change how its kernels round. None by default.

A closed list. An option applies to every build of a job: candidates, the compiler's baselines, the reference and the
builds at other sizes. It is part of a result's identity, so a result with an option never answers a request without it.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from warpwright.solver.domain.errors import DocumentError
from warpwright.solver.domain.kernel import TargetFamily

__all__ = ["MEANINGS", "BuildOption", "build_options", "column_of", "compiler_flags", "pass_configs"]


class BuildOption(StrEnum):
    """Stored by name, append only; :data:`MEANINGS` says what each option does."""

    FLUSH_DENORMALS = "flush_denormals"
    FAST_MATH = "fast_math"


MEANINGS: Mapping[BuildOption, str] = {
    BuildOption.FLUSH_DENORMALS: (
        "float32 subnormals are zero (nvcc -ftz=true); an exp2 is then one instruction, not four: two multiplications and a "
        "compare guard it otherwise"
    ),
    BuildOption.FAST_MATH: (
        "nvcc --use_fast_math, TileLang's tl.enable_fast_math: flush_denormals, approximate division and square root, and the "
        "device's approximate exp, log, sin, cos"
    ),
}

_FLAGS: Mapping[BuildOption, tuple[str, ...]] = {
    BuildOption.FLUSH_DENORMALS: ("-ftz=true",),
    BuildOption.FAST_MATH: ("--use_fast_math",),
}
_SUPPORTED: Mapping[TargetFamily, frozenset[BuildOption]] = {
    TargetFamily.CUDA: frozenset(BuildOption),
    TargetFamily.ASCEND: frozenset(),
}


def build_options(names: Iterable[str], family: TargetFamily, place: str = "/build_options") -> tuple[BuildOption, ...]:
    """The options with these names in a fixed order, each once.

    Raises:
        DocumentError: ``build-option-unknown``; ``build-option-unsupported`` if the target family's compiler does
            not have the option.
    """
    found = set()
    for name in names:
        option = next((known for known in BuildOption if known.value == name), None)
        if option is None:
            message = f"there is no build option {str(name)[:80]!r}; choose from {', '.join(sorted(BuildOption))}"
            raise DocumentError(message, code="build-option-unknown", place=place)
        if option not in _SUPPORTED[family]:
            message = f"{option} is not an option of builds for {family.value} devices"
            raise DocumentError(message, code="build-option-unsupported", place=place)
        found.add(option)
    return tuple(sorted(found))


def column_of(options: Iterable[str]) -> str:
    """The options as the identity column ``build_options``; empty for none."""
    return ",".join(sorted(set(options)))


def compiler_flags(options: Iterable[BuildOption]) -> tuple[str, ...]:
    """The flags for nvcc."""
    return tuple(flag for option in options for flag in _FLAGS[option])


def pass_configs(options: Iterable[BuildOption]) -> dict[str, Any]:
    """The pass configurations for TileLang, if it calls the compiler itself (0.1.15 wheel, ``cuda/backend.py:70-103``)."""
    options = set(options)
    configs: dict[str, Any] = {}
    if BuildOption.FAST_MATH in options:
        configs["tl.enable_fast_math"] = True
    flags = compiler_flags(sorted(options - {BuildOption.FAST_MATH}))
    if flags:
        configs["tl.device_compile_flags"] = list(flags)
    return configs
