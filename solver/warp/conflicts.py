"""Why a problem has no schedule: the core of an engine in the words and numbers of the families."""

from collections.abc import Sequence

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.families import FAMILIES
from warpwright.solver.warp.families.pinning import PREFIX
from warpwright.solver.warp.problem import WarpProblem

__all__ = ["conflicts", "rule_words", "too_much"]


def conflicts(problem: WarpProblem, enc: WarpEncoding, core: tuple[str, ...]) -> tuple[Conflict, ...]:
    """A core as conflicts with numbers: each family says what it needs and what is available."""
    known = {family.NAME: family for family in FAMILIES}
    found: list[Conflict] = []
    for name in core or tuple(known):
        if name.startswith(PREFIX):
            never = "".join(f", but {note}" for note in _never(enc, name))
            found.append(Conflict("pins", f"pinned: {name.removeprefix(PREFIX)}{never}", "drop this pin", name))
            continue
        if placed := [each for each in enc.structure.conflicts if each.family == name or name == "hand_offs"]:
            found += placed
            continue
        facts = known[name].explain(problem, None) if name in known else ()
        over, change = too_much(facts)
        # What fits is no reason: without a number that does not, what the family says of this kernel, or the rule itself.
        notes = [fact.note for fact in facts if fact.slack is None and fact.note]
        told = "; ".join([*map(str, over)] or notes or _never(enc, name)) or _words(enc, name)
        found.append(Conflict(name, told, change))
    return tuple(found)


def too_much(facts: Sequence[Fact]) -> tuple[list[Fact], str]:
    """The facts that do not fit, and in words what has to go before the first of them does; both empty if all fit."""
    over = [fact for fact in facts if fact.slack is not None and fact.slack < 0]
    return over, f"{-(over[0].slack or 0):,} {over[0].unit} less" if over else ""


def rule_words(name: str) -> str:
    """A family's rule in words: the first sentence of its module."""
    family = next((each for each in FAMILIES if name == each.NAME), None)
    text = " ".join((family.__doc__ or "").replace("``", "").split()) if family is not None else ""
    return text.partition(". ")[0].removesuffix(".") or name


def _never(enc: WarpEncoding, name: str) -> list[str]:
    """What a pin or a family says of this kernel that is so under no schedule."""
    fixed = [c for c in enc.model.constraints if c.family == name and c.expr is not None and not c.expr.terms]
    return [c.note for c in fixed if c.note and c.expr is not None and c.lo is not None and c.expr.constant < c.lo]


def _words(enc: WarpEncoding, name: str) -> str:
    """The only thing that a family says of this problem, if it is one; otherwise its rule."""
    notes = list(dict.fromkeys(c.note for c in enc.model.constraints if c.family == name and c.note))
    return notes[0] if len(notes) == 1 else rule_words(name)
