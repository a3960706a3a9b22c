"""Minimising an infeasible core over rule families by deletion.

Works with any engine that can decide a model: a family is dropped when the rest is still proven infeasible. Undecided
checks keep the family, so the result is always a core, and a minimal one if every check was decided.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from warpwright.solver.engines.model import Model

__all__ = ["ALWAYS", "families_of", "minimise_core", "restricted"]

ALWAYS = "domain"
"""Family of definitions (what a variable means). It is never dropped and never named in a core."""


def families_of(model: Model) -> tuple[str, ...]:
    """Labels of the model's families in order of first use, definitions left out."""
    return tuple(dict.fromkeys(c.family for c in model.constraints if c.family != ALWAYS))


def restricted(model: Model, families: Sequence[str]) -> Model:
    """The model with only these families (and the definitions), without objectives."""
    kept = {*families, ALWAYS}
    return replace(model, constraints=[c for c in model.constraints if c.family in kept], objectives=[])


def minimise_core(start: Sequence[str], infeasible: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    """Drops families one by one, last first, as long as ``infeasible`` still proves the rest.

    Args:
        start: Families that are infeasible together.
        infeasible: True only when these families were proven infeasible.
    """
    core = tuple(start)
    for family in reversed(tuple(start)):
        smaller = tuple(name for name in core if name != family)
        if infeasible(smaller):
            core = smaller
    return core
