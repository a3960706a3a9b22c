"""Roles are disjoint ranges of warps; a role with WGMMA consists of whole, aligned warpgroups that divide its tiles.

``num_warps`` is a multiple of four within the block's thread limit. TileLang checks neither alignment nor the limit: a role
of six warps silently becomes ``mma.sync``, one that starts at warp 1 issues WGMMA on a misaligned warpgroup. Source: rule
book 1.2, 1.10 and 1.14.1-2; TileLang 0.1.15 wheel, ``src/cuda/op/gemm.cc:248-331``.

The role that holds the fragments has a width at which TileLang finds layouts for them: it was asked when the kernel was read
(:mod:`warpwright.lowering.frontend.layouts`).
"""

from collections.abc import Callable
from itertools import combinations

from warpwright.solver.device.limits import WARP_THREADS, WARPGROUP
from warpwright.solver.device.wgmma import is_wgmma, partition
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import Memory, Op, OpKind
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import linear
from warpwright.solver.warp.encoding import WarpEncoding, default_warps
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "warp_ranges"
_BLOCK_WIDE = (OpKind.FILL, OpKind.PARALLEL)


def build(enc: WarpEncoding) -> None:
    """Ranges inside the block, disjoint, in canonical order unless a pin moves one; legal consumer widths only."""
    model, problem, roles = enc.model, enc.problem, enc.structure.roles
    for groups, literal in enc.groups.items():
        if groups * WARPGROUP * WARP_THREADS > problem.device.block_threads:
            model.any_of([literal.negated()], note=f"{groups} warpgroups have more threads than a block may have")
        for role in roles:
            model.at_most(enc.first_warp[role] + enc.warps[role], WARPGROUP * groups, when=[literal])
    for groups, literal in enc.width.items():
        ops = _ops_of(enc, CONSUMER)
        reason = width_conflict(problem, ops, WARPGROUP * groups) or layout_conflict(problem, ops, WARPGROUP * groups)
        if reason:
            model.any_of([literal.negated()], note=reason)
    if CONSUMER in roles:
        alignment = model.integer("consumer first warpgroup", 0, max(enc.groups) - 1)
        model.equal(enc.first_warp[CONSUMER] - WARPGROUP * alignment, 0, note="the consumer is whole warpgroups")
    pinned = {pin.role for pin in problem.pins.roles if pin.warps_lo is not None or pin.warps_hi is not None}
    for left, right in combinations(roles, 2):
        first = model.boolean(f"{left} warps before {right}")
        end = enc.first_warp[left] + enc.warps[left]
        model.at_most(end - enc.first_warp[right], 0, when=[first], note=f"{left} and {right} share no warp")
        end = enc.first_warp[right] + enc.warps[right]
        model.at_most(end - enc.first_warp[left], 0, when=[first.negated()], note=f"{left} and {right} share no warp")
        if not pinned:
            model.any_of([first])
    for role in roles:
        if role != CONSUMER and role not in pinned:
            model.equal(enc.warps[role], default_warps(problem, enc.structure, role))
    if not pinned:
        _canonical(enc)


def _canonical(enc: WarpEncoding) -> None:
    """Without pins roles follow each other without gaps, and the block is not larger than they need."""
    ahead = None
    for role in enc.structure.roles:
        start = linear() if ahead is None else ahead
        if enc.structure.roles.index(role) and default_warps(enc.problem, enc.structure, role) % WARPGROUP == 0:
            aligned = enc.model.integer(f"{role} first warpgroup", 0, max(enc.groups))
            enc.model.equal(enc.first_warp[role] - WARPGROUP * aligned, 0)
            enc.model.at_least(enc.first_warp[role] - start, 0)
            enc.model.at_most(enc.first_warp[role] - start, WARPGROUP - 1)
        else:
            enc.model.equal(enc.first_warp[role] - start, 0)
        ahead = enc.first_warp[role] + enc.warps[role]
    if ahead is not None:
        for groups, literal in enc.groups.items():
            enc.model.at_least(ahead, WARPGROUP * (groups - 1) + 1, when=[literal], note="no idle warpgroup")


def _ops_of(enc: WarpEncoding, role: str) -> tuple[Op, ...]:
    return tuple(enc.problem.ops[op_id] for op_id, roles in enc.structure.placement.items() if role in roles)


def width_conflict(problem: WarpProblem, ops: tuple[Op, ...], warps: int) -> str:
    """Why these operations cannot run in a role of this many warps; empty if they can."""
    for op in ops:
        if op.gemm is not None and problem.device.wgmma and is_wgmma(op.gemm) and partition(op.gemm, warps) is None:
            tile = f"{op.gemm.m} x {op.gemm.n}"
            return f"{op.id}: there is no {op.gemm.warp_policy} partition of {tile} over {warps} warps"
        threads = warps * WARP_THREADS
        uneven = op.kind in _BLOCK_WIDE and op.elements >= threads and op.elements % threads
        if uneven and threads != problem.graph.threads:
            return f"{op.id}: {op.elements} elements cannot be divided over {threads} threads"
    return ""


def layout_conflict(problem: WarpProblem, ops: tuple[Op, ...], warps: int) -> str:
    """Why TileLang finds no layouts for the fragments in a role of this many warps; empty if it does or was not asked.

    It was asked about all fragments in one role, so a role without some of them is not judged.
    """
    reason = next((w.reason for w in problem.graph.refused_widths if WARPGROUP * w.warpgroups == warps), "")
    if not reason:
        return ""
    inside = {op.id for op in ops}
    outside = {access.buffer for op in problem.graph.ops if op.id not in inside for access in (*op.reads, *op.writes)}
    if any(problem.graph.buffer(name).memory is Memory.FRAGMENT for name in outside):
        return ""
    return f"there are no layouts of the fragments over {warps} warps: {reason}"


def check(reading: Reading) -> tuple[Violation, ...]:
    """Ranges, limits, alignment and partitions."""
    found: list[Violation] = []
    schedule, problem = reading.schedule, reading.problem

    def say(rule: str, message: str, place: str = "") -> None:
        found.append(Violation(NAME, rule, message, place))

    if schedule.num_warps <= 0 or schedule.num_warps % WARPGROUP:
        say("warps-multiple-of-four", f"num_warps is {schedule.num_warps}, not a positive multiple of four")
    if schedule.num_warps * WARP_THREADS > problem.device.block_threads:
        threads = schedule.num_warps * WARP_THREADS
        say("too-many-threads", f"{threads} threads; a block has at most {problem.device.block_threads}")
    names = [role.name for role in schedule.roles]
    for name in sorted({name for name in names if names.count(name) > 1}):
        say("role-twice", f"two roles are called {name}", name)
    for role in schedule.roles:
        if not 0 <= role.warps_lo < role.warps_hi <= schedule.num_warps:
            message = f"{role.name} has warps {role.warps_lo} to {role.warps_hi} of {schedule.num_warps}"
            say("range-outside-block", message, role.name)
        _check_role(reading, role.name, say)
    for left, right in combinations(schedule.roles, 2):
        if left.warps_lo < right.warps_hi and right.warps_lo < left.warps_hi:
            say("ranges-overlap", f"{left.name} and {right.name} share warps", left.name)
    return tuple(found)


def _check_role(reading: Reading, name: str, say: Callable[[str, str, str], None]) -> None:
    role, problem = reading.roles[name], reading.problem
    ops = tuple(reading.problem.ops[op_id] for op_id, roles in reading.placement.items() if name in roles)
    products = [op for op in ops if op.gemm is not None and problem.device.wgmma and is_wgmma(op.gemm)]
    if products and (role.warps_lo % WARPGROUP or role.warps % WARPGROUP):
        message = f"{products[0].id} needs whole, aligned warpgroups; {name} has warps {role.warps_lo}..{role.warps_hi}"
        say("wgmma-alignment", message, name)
        return
    reason = width_conflict(problem, ops, role.warps) if role.warps > 0 else ""
    if reason:
        say("no-partition", reason, name)
    if ops and (reason := layout_conflict(problem, ops, role.warps)):
        say("no-layout", reason, name)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Threads of the block by role, or which consumer widths are legal."""
    if reading is not None:
        held = tuple((role.name, role.warps * WARP_THREADS) for role in reading.schedule.roles)
        total = reading.schedule.num_warps * WARP_THREADS
        idle = total - sum(amount for _, amount in held)
        held = (*held, ("idle", idle)) if idle else held
        return (Fact("threads", total, problem.device.block_threads, "threads per block", held),)
    ops = problem.graph.ops
    most = problem.device.block_threads // (WARP_THREADS * WARPGROUP)

    def conflict(groups: int) -> str:
        warps = WARPGROUP * groups
        return width_conflict(problem, ops, warps) or layout_conflict(problem, ops, warps)

    legal = [groups for groups in range(1, most) if not conflict(groups)]
    pinned = problem.pins.consumer_warpgroups
    refused = conflict(pinned) if pinned else ""
    note = f"the tiles divide over {' or '.join(map(str, legal)) or 'no number of'} consumer warpgroups"
    note = f"{refused}; {note}" if refused else note
    return (Fact("consumer widths", len(legal), None, "choices", note=note),)
