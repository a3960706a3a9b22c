"""Placement: every operation on exactly one group of enough warps; variable latency on groups of its own, and only there.

(Twill, arXiv 2512.18134, section 4.2: one warp per operation, all warps of a warpgroup for a warpgroup operation, and the
equivalence between variable latency and the dedicated warp.)
"""

from itertools import pairwise

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal
from warpwright.solver.modulo.encoding import ModuloEncoding
from warpwright.solver.modulo.problem import Group, ModuloProblem
from warpwright.solver.modulo.schedule_reader import ModuloReading

__all__ = ["NAME", "build", "check", "explain"]

NAME = "placement"


def build(encoding: ModuloEncoding) -> None:
    """Exactly one candidate per operation; groups that differ only in their name are used in order."""
    model, problem = encoding.model, encoding.problem
    if not problem.groups:
        return
    with model.family(NAME):
        for op in problem.ops:
            literals = [encoding.on[op.id, group.name] for group in problem.candidates(op)]
            model.exactly_one(literals, note=f"{op.id} runs on one group")
        for twins in _twins(problem):
            for first, second in pairwise(twins):
                _in_order(encoding, first, second)


def _twins(problem: ModuloProblem) -> list[list[Group]]:
    if any(op.groups for op in problem.ops):
        return []  # a pin distinguishes twins
    kinds: dict[tuple[int, int, bool], list[Group]] = {}
    for group in problem.groups:
        kinds.setdefault((group.warps, group.registers, group.variable_latency), []).append(group)
    return [groups for groups in kinds.values() if len(groups) > 1]


def _in_order(encoding: ModuloEncoding, first: Group, second: Group) -> None:
    """An operation is on the second twin only if an earlier one is on the first: a renaming, so nothing is lost."""
    earlier: list[Literal] = []
    for op in encoding.problem.ops:
        if (op.id, second.name) not in encoding.on:
            continue
        encoding.model.any_of(
            earlier, when=[encoding.on[op.id, second.name]], note=f"{first.name} before {second.name}"
        )
        earlier.append(encoding.on[op.id, first.name])


def check(reading: ModuloReading) -> tuple[Violation, ...]:
    """Operations on no group, on an unknown one, or on one that may not run them."""
    problem, schedule = reading.problem, reading.schedule
    broken = []
    for index, op in enumerate(problem.ops):
        if not problem.groups:
            continue
        allowed = [group.name for group in problem.candidates(op)]
        found = schedule.groups.get(op.id)
        if found not in allowed:
            message = f"{op.id} is on {found}, but may run on {', '.join(allowed) or 'no group'}"
            broken.append(Violation(NAME, "one-group", message, f"/ops/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, reading: ModuloReading | None) -> tuple[Fact, ...]:
    """Who runs where; without a schedule, who may."""
    facts = []
    for group in problem.groups:
        if reading is None:
            mine = [op.id for op in problem.ops if group in problem.candidates(op)]
        else:
            mine = [op.id for op in problem.ops if reading.schedule.groups.get(op.id) == group.name]
        facts.append(Fact(group.name, len(mine), None, "operations", note=", ".join(mine) or "idle"))
    return tuple(facts)
