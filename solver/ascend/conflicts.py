"""Why a scheduling problem has no answer, or what limits its interval: the families' numbers in words."""

from collections.abc import Sequence
from dataclasses import replace

from warpwright.solver.ascend.families import FAMILIES
from warpwright.solver.ascend.optimise import NodeLimits
from warpwright.solver.ascend.problem import LoopProblem, Problem
from warpwright.solver.ascend.solve import solve_problem
from warpwright.solver.domain import ROOT, Conflict, SchedulerCall

__all__ = ["conflicts", "infeasible_call", "numbers"]


def numbers(problem: Problem) -> list[str]:
    """What every family requires of the problem, one line each."""
    return [f"{family.NAME}: {line}" for family in FAMILIES for line in family.explain(problem, None)]


def infeasible_call(call: SchedulerCall, problem: Problem) -> str:
    """One message for a scope without a schedule: the conflicts with their relaxations."""
    parts = [f"{c.message}" + (f"; {c.relaxation}" if c.relaxation else "") for c in conflicts(problem, call.buffers)]
    return f"{'root' if call.scope == ROOT else call.scope}: " + (
        " | ".join(parts) or "no interval satisfies the constraints together"
    )


def conflicts(problem: Problem, names: Sequence[str] = ()) -> tuple[Conflict, ...]:
    """The conflicting families, each proven necessary by solving without it.

    Memory first: when one version of every buffer does not fit, that alone decides. Otherwise a family is in conflict when
    the problem becomes feasible without it.
    """
    if not isinstance(problem, LoopProblem):
        return (Conflict("dependence", "the dependences of the straight-line list form a cycle"),)
    found = [
        Conflict("memory_capacity", *_overflow(problem, group.name, names), place=group.name)
        for group in problem.memory_groups
        if sum(problem.buffer_sizes[b] for b in group.buffers) > group.limit_bytes and group.buffers
    ]
    if found:
        return tuple(found)
    for name, relaxed, relaxation in _relaxations(problem):
        if solve_problem(relaxed, budget=NodeLimits(interval=2000, bytes=1, length=1)).answer is not None:
            lines = next((f.explain(problem, None) for f in FAMILIES if name == f.NAME), ())
            found.append(Conflict(name, "; ".join(map(str, lines)) or name, relaxation))
    return tuple(found) or (Conflict("dependence", "the dependences alone allow no interval"),)


def _overflow(problem: LoopProblem, group_name: str, names: Sequence[str]) -> tuple[str, str]:
    group = next(g for g in problem.memory_groups if g.name == group_name)
    called = [names[b] if b < len(names) else f"buffer {b}" for b in group.buffers]
    parts = " + ".join(f"{name} {problem.buffer_sizes[b]}" for name, b in zip(called, group.buffers, strict=True))
    needed = sum(problem.buffer_sizes[b] for b in group.buffers)
    message = f"{group_name}: one version each of {parts} = {needed} bytes, of {group.limit_bytes} available"
    return message, f"free {needed - group.limit_bytes} bytes: a smaller tile, or fewer fixed versions"


def _relaxations(problem: LoopProblem) -> list[tuple[str, LoopProblem, str]]:
    unlimited = tuple(replace(g, limit_bytes=1 << 40) for g in problem.memory_groups)
    return [
        ("memory_capacity", replace(problem, memory_groups=unlimited), "smaller tiles, or fewer fixed versions"),
        ("buffer_versions", replace(problem, num_stages=64), "a larger num_stages"),
        ("offset_window", replace(problem, enable_offset=True), "enable_offset=True on the loop"),
        ("manual_stages", replace(problem, manual_schedule=False, pipe_order_deps=()), "other T.Stage values"),
        ("stage_order", replace(problem, stage_order_deps=()), "read the scalar in the stage that writes it"),
        ("owner_exclusion", replace(problem, owner_exclusion_deps=()), "separate buffers for the two owners"),
    ]
