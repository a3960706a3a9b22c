"""Compares the plan with the build. After a difference, a time must not be credited to the plan."""

from collections import Counter
from collections.abc import Iterator

from warpwright.lowering.compile.readback import ReadBack
from warpwright.lowering.compile.result import NotHonoured, PtxasReport
from warpwright.lowering.compile.sass import SassReport
from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP
from warpwright.solver.domain.schedule import WarpSchedule

__all__ = ["differences"]


def differences(
    plan: WarpSchedule, found: ReadBack, report: PtxasReport | None, sass: SassReport | None = None
) -> tuple[NotHonoured, ...]:
    """Every planned number that the source, the assembler's report or the machine code does not confirm."""
    return tuple(_source(plan, found)) + tuple(_assembler(plan, report)) + tuple(_machine_code(plan, found, sass))


def _source(plan: WarpSchedule, found: ReadBack) -> Iterator[NotHonoured]:
    threads = WARP_THREADS * plan.num_warps
    if found.threads != threads:
        yield NotHonoured("launch bounds", f"{threads} threads", f"{found.threads} threads")
    if found.min_blocks is None and any(role.registers_per_thread for role in plan.roles):
        yield NotHonoured("launch bounds", "a minimum of blocks per SM", "none: register requests would be ignored")
    for pipeline in plan.pipelines:
        for side, depths in (("full", found.depths), ("empty", found.empty_depths)):
            depth = depths.get(pipeline.name)
            if depth != pipeline.depth:
                yield NotHonoured(f"{side} barriers of pipeline {pipeline.name}", str(pipeline.depth), str(depth))
    if not found.uses_tcgen05 and any(role.name == "mma" for role in plan.roles):
        yield NotHonoured("tensor-core instructions", "tcgen05.mma by the role mma", "none in the source")
    planned, seen = Counter(_requests(plan)), Counter(request.registers for request in found.register_requests)
    for registers in sorted(planned.keys() | seen.keys()):
        if planned[registers] != seen[registers]:
            what = f"setmaxnreg requests of {registers} registers"
            yield NotHonoured(what, str(planned[registers]), str(seen[registers]))
    ends = {WARP_THREADS * role.warps_hi for role in plan.roles if role.warps_hi < plan.num_warps}
    if missing := sorted(ends - set(found.branch_threads)):
        yield NotHonoured("role branches", f"ends at threads {sorted(ends)}", f"no branch at {missing}")


def _assembler(plan: WarpSchedule, report: PtxasReport | None) -> Iterator[NotHonoured]:
    for message in report.messages if report else ():
        if message.code in ("C7507", "C7508") and any(role.registers_per_thread for role in plan.roles):
            yield NotHonoured("register requests", "kept by the assembler", f"({message.code}) {message.text}")


def _machine_code(plan: WarpSchedule, found: ReadBack, sass: SassReport | None) -> Iterator[NotHonoured]:
    """Checks that the machine code has every budget of the plan (possibly twice: the compiler duplicates branches)."""
    if sass is None:
        return
    planned = set(_requests(plan))
    if missing := sorted(planned - set(sass.register_requests)):
        yield NotHonoured("register requests in the machine code", str(sorted(planned)), f"none of {missing}")
    if found.uses_wgmma and not sass.warpgroup_mma:
        yield NotHonoured("tensor-core instructions", "warpgroup instructions", f"{sass.other_mma} of warps")


def _requests(plan: WarpSchedule) -> list[int]:
    """One request per role, and one for every run of idle warps whose warpgroup, or whose neighbours, have a budget.

    TileLang gives idle warps of a covered warpgroup that warpgroup's value and a wholly idle warpgroup the smallest one
    (materialize_ws_schedule.cc:600-608, 2643-2684).
    """
    if not any(role.registers_per_thread for role in plan.roles):
        return []
    budgets: dict[int, int] = {}
    for role in plan.roles:
        for group in range(role.warps_lo // WARPGROUP, -(-role.warps_hi // WARPGROUP)):
            budgets[group] = role.registers_per_thread
    smallest = min(role.registers_per_thread for role in plan.roles if role.registers_per_thread)
    requests = [role.registers_per_thread for role in plan.roles if role.registers_per_thread]
    covered = {warp for role in plan.roles for warp in range(role.warps_lo, role.warps_hi)}
    for group in range(plan.num_warps // WARPGROUP):
        warps = range(group * WARPGROUP, (group + 1) * WARPGROUP)
        starts = [w for w in warps if w not in covered and (w == warps[0] or w - 1 in covered)]
        budget = budgets.get(group, smallest)
        requests += [budget for _ in starts if budget]
    return requests
