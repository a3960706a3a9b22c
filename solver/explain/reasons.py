"""What stands in the way of a choice: each member of the core is taken out alone, and what a schedule then breaks is the reason.

A core only says that its members clash. So of each family the rules that clash are left out in turn, with everything asked kept:
if a schedule exists then, they alone stand in the way, and the schedule that breaks them least gives the numbers, at the
choice that was asked for. A member without which there is still no schedule is not told as a reason of its own.
"""

from collections.abc import Sequence
from dataclasses import replace

from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.engines import Budget, EngineResult
from warpwright.solver.engines import engine as engine_named
from warpwright.solver.engines.model import Expr, Model, linear
from warpwright.solver.explain.pin_labels import without_pin
from warpwright.solver.warp.conflicts import rule_words, too_much
from warpwright.solver.warp.decode import decode
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.families import FAMILIES, hand_offs, register_need, shared_memory
from warpwright.solver.warp.families.pinning import NAME as PINS
from warpwright.solver.warp.families.pinning import PREFIX
from warpwright.solver.warp.objective import register_split
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import build_rules, starting_point

__all__ = ["REQUESTED", "reasons", "witness"]

Intervals = tuple[tuple[str, int], ...]
REQUESTED = "requested interval"
"""Family of the limits that a question sets on intervals."""
CHOICES = (PINS, REQUESTED)
"""Families of what was asked for, as opposed to rules."""
WORDS = 3
"""Most rules of one family that a reason lists."""
ROUNDS = 4
"""How many cores of one family are taken out before it is given up."""
PART = ": "
"""Between a family and one of its rules in a label."""


def reasons(
    problem: WarpProblem, intervals: Intervals, core: Sequence[Conflict], engine: str, budget: Budget
) -> tuple[Conflict, ...]:
    """The members of a core that stand in the way, each with the numbers of the choice that was asked for.

    Args:
        problem: The problem with everything that was asked as pins; it has no schedule within ``intervals``.
        intervals: Cycles that each loop's interval may have at most.
        core: Conflicting families and pins, as an engine named them.
        engine: Engine of the searches.
        budget: Budget of each.
    """
    alone: list[Conflict] = []
    for member in core:
        found = _alone(problem, intervals, member, engine, budget)
        if found is not None:
            alone.append(found)
    if any(each.family not in CHOICES for each in alone):
        return tuple(alone)
    clashing = _in_core(problem, intervals, core, engine, budget)
    rules = tuple(each for each in clashing if each.family not in CHOICES)
    return (*rules, *alone) if alone else clashing


def witness(
    problem: WarpProblem, intervals: Intervals, family: str, engine: str, budget: Budget
) -> tuple[WarpSchedule, tuple[str, ...]] | None:
    """The schedule that keeps everything but the rules of one family that stand in the way, and breaks those least; with them in
    the model's words. None if there is no such schedule, or none within the budget.

    Least: fewest bytes, then the fewest registers (or, where the need of registers is what is broken, the split that a
    solve would choose) and versions.
    """
    enc = build_rules(problem)
    _limit(enc, intervals)
    parts = _named_parts(enc.model, (family,))
    broken = _standing_in_the_way(parts, family, engine, budget, starting_point(enc))
    if broken is None:
        return None
    enc.model.constraints = _without(parts, broken).constraints
    versions = linear(*((1, depth) for depth in enc.depth))
    split = register_split(enc) if family == register_need.NAME else linear(*((1, v) for v in enc.registers.values()))
    enc.model.objectives = [shared_memory.on_chip(enc), _kept(enc), split, versions]
    result = _solved(enc, engine, budget)
    if result.values is None:
        return None
    return decode(enc, result.values), tuple(word for name in broken if (word := name.partition(PART)[2]))


def _standing_in_the_way(
    parts: Model, family: str, engine: str, budget: Budget, start: Sequence[int | None]
) -> tuple[str, ...] | None:
    """Labels of a family's rules without which there is a schedule, few of them; None if other families forbid it as well."""
    broken: tuple[str, ...] = ()
    for _ in range(ROUNDS):
        result = engine_named(engine).solve(_without(parts, broken), budget, start)
        if result.values is not None:
            return broken
        # What has no name defines something; to leave it out would not be to break a rule.
        more = tuple(name for name in result.core if name.startswith(family + PART) and name != family + PART)
        if not more:
            return None
        for name in more if len(more) > 1 else ():
            one = (*broken, name)
            if engine_named(engine).solve(_without(parts, one), budget, start).values is not None:
                return one
        broken += more
    return None


def _named_parts(model: Model, families: Sequence[str]) -> Model:
    """The model with each rule of some families under a label of its own, so that a core names the rule."""
    parts = [replace(c, family=f"{c.family}{PART}{c.note}") if c.family in families else c for c in model.constraints]
    return replace(model, constraints=parts, objectives=[])


def _without(model: Model, labels: Sequence[str]) -> Model:
    return replace(model, constraints=[c for c in model.constraints if c.family not in labels])


def _alone(
    problem: WarpProblem, intervals: Intervals, member: Conflict, engine: str, budget: Budget
) -> Conflict | None:
    """The member as a reason of its own; None if there is no schedule without it either."""
    if member.family == PINS:
        dropped = without_pin(problem.pins, member.place.removeprefix(PREFIX))
        possible = dropped is not None and _exists(replace(problem, pins=dropped), intervals, engine, budget)
        return member if possible else None
    if member.family == REQUESTED:
        return member if _exists(problem, (), engine, budget) else None
    found = witness(problem, intervals, member.family, engine, budget)
    if found is None:
        return None
    schedule, words = found
    if member.family == hand_offs.NAME:
        return replace(member, relaxation="")  # it has its own words already
    return _broken(problem, schedule, member.family) or _in_words(member, words)


def _in_core(
    problem: WarpProblem, intervals: Intervals, core: Sequence[Conflict], engine: str, budget: Budget
) -> tuple[Conflict, ...]:
    """Members that only together stand in the way, in the words of the rules that clash, without a way out of their own."""
    enc = build_rules(problem)
    _limit(enc, intervals)
    parts = _named_parts(enc.model, [each.family for each in core])
    clashing = engine_named(engine).solve(parts, budget, starting_point(enc)).core
    told = []
    for member in dict.fromkeys(core):
        words = [name.partition(PART)[2] for name in clashing if name.startswith(member.family + PART)]
        # A member with a way out has a number that does not fit.
        plain = member.family in (*CHOICES, hand_offs.NAME) or bool(member.relaxation)
        told.append(replace(member, relaxation="") if plain else _in_words(member, [w for w in words if w]))
    return tuple(told)


def _in_words(member: Conflict, words: Sequence[str]) -> Conflict:
    more = f"; and {len(words) - WORDS} more" if len(words) > WORDS else ""
    return replace(member, message="; ".join(words[:WORDS]) + more or rule_words(member.family), relaxation="")


def _broken(problem: WarpProblem, schedule: WarpSchedule, name: str) -> Conflict | None:
    """What a schedule breaks of one family, with what is too much of its resource."""
    family = next(each for each in FAMILIES if name == each.NAME)
    reading = Reading(problem, schedule)
    violations = family.check(reading)
    if not violations:
        return None
    _, change = too_much(family.explain(problem, reading))
    message = "; ".join(dict.fromkeys(each.message for each in violations))
    return Conflict(name, message + _other_width(reading), change, violations[0].place)


def _other_width(reading: Reading) -> str:
    """Says the width of a schedule that has another one than the kernel, where nobody asked for it."""
    own, consumer = reading.problem.graph.threads // WARP_THREADS, reading.roles.get(CONSUMER)
    if reading.problem.pins.consumer_warpgroups is not None or consumer is None or consumer.warps == own:
        return ""
    groups = consumer.warps // WARPGROUP
    return f" (with {groups} consumer warpgroup{'' if groups == 1 else 's'})"


def _exists(problem: WarpProblem, intervals: Intervals, engine: str, budget: Budget) -> bool:
    enc = build_rules(problem)
    _limit(enc, intervals)
    return _solved(enc, engine, budget).values is not None


def _limit(enc: WarpEncoding, intervals: Intervals) -> None:
    with enc.model.family(REQUESTED):
        for scope, cycles in intervals:
            enc.model.at_most(enc.interval[scope], cycles, note=f"interval of {scope} at most {cycles:,} cycles")


def _kept(enc: WarpEncoding) -> Expr:
    """How far the consumer's width is from the kernel's own."""
    own = enc.problem.graph.threads // WARPGROUP_THREADS
    return linear(*((abs(groups - own), literal.var) for groups, literal in enc.width.items()))


def _solved(enc: WarpEncoding, engine: str, budget: Budget) -> EngineResult:
    return engine_named(engine).solve(enc.model, budget, starting_point(enc))
