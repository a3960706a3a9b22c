"""Why a problem has no schedule: the core of an engine in the words and numbers of the families."""

from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.families import FAMILIES
from warpwright.solver.warp.families.pinning import PREFIX
from warpwright.solver.warp.problem import WarpProblem

__all__ = ["conflicts"]


def conflicts(problem: WarpProblem, enc: WarpEncoding, core: tuple[str, ...]) -> tuple[Conflict, ...]:
    """A core as conflicts with numbers: each family says what it needs and what is available."""
    known = {family.NAME: family for family in FAMILIES}
    found: list[Conflict] = []
    for name in core or tuple(known):
        if name.startswith(PREFIX):
            found.append(Conflict("pins", f"pinned: {name.removeprefix(PREFIX)}", "drop this pin", name))
            continue
        if name == "hand_offs" and enc.structure.conflicts:
            found += enc.structure.conflicts
            continue
        facts = known[name].explain(problem, None) if name in known else ()
        notes = [c.note for c in enc.model.constraints if c.family == name and c.note]
        message = "; ".join(str(fact) for fact in facts) or (notes[0] if notes else name)
        over = [fact for fact in facts if fact.slack is not None and fact.slack < 0]
        change = f"{-(over[0].slack or 0):,} {over[0].unit} less" if over else ""
        found.append(Conflict(name, message, change))
    return tuple(found)
