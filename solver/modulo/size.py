"""How large the joint model of a problem is, before it is built, and the smaller problem with the groups fixed."""

from dataclasses import replace
from itertools import combinations

from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule

__all__ = ["LARGEST_MODEL", "joint_size", "with_groups_of"]

LARGEST_MODEL = 250_000
"""Constraints of the largest joint model that is built: a search on it stays below about 600 MiB."""
PER_PAIR, PER_PAIR_ALONE = 12, 4
"""Constraints of two operations that may share a group (order, waits, registers, units), and of two without groups."""


def joint_size(problem: ModuloProblem) -> int:
    """About how many constraints the joint model has: some for every pair, and one for every group that a pair may share."""
    if not problem.groups:
        return PER_PAIR_ALONE * len(problem.ops) * (len(problem.ops) - 1) // 2
    places = [frozenset(group.name for group in problem.candidates(op)) for op in problem.ops]
    shared = (len(left & right) for left, right in combinations(places, 2))
    return sum(PER_PAIR + common for common in shared if common)


def with_groups_of(problem: ModuloProblem, schedule: ModuloSchedule) -> ModuloProblem:
    """The problem with every operation pinned to the group that it has in a schedule."""
    if not problem.groups:
        return problem
    return replace(problem, ops=tuple(replace(op, groups=(schedule.groups[op.id],)) for op in problem.ops))
