"""How many registers a role's threads need, and what happens when they get fewer.

Fragments live from their first write to their last read in program order. An element-wise operation frees its dying
input element by element, so input and output share their registers. Launch registers follow ptxas 13.0.88: the largest
multiple of 8 that the launch bounds allow, no more than the largest ``setmaxnreg`` value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from warpwright.solver.domain import KernelGraph, Memory, Op, OpKind, WarpSchedule
from warpwright.solver.forecast.machine import Machine

__all__ = ["Registers", "launch_registers", "live_fragments", "role_registers"]

WARP = 32
IN_PLACE = (OpKind.COPY, OpKind.PARALLEL, OpKind.REDUCE, OpKind.FILL)


@dataclass(frozen=True, slots=True)
class Registers:
    """Per thread of a role: what it needs, what it may use, and what therefore does not fit."""

    needed: int
    budget: int

    @property
    def spilled(self) -> int:
        """Registers that go to local memory."""
        return max(0, self.needed - self.budget)


def live_fragments(graph: KernelGraph, ops: Sequence[Op], threads: int, spread: frozenset[str] = frozenset()) -> int:
    """Most 32-bit registers of a thread that the fragments of these operations hold at once.

    ``spread`` names loops whose body overlaps iterations (stage offsets): what it touches lives through the whole loop.

    Raises:
        GraphError: an operation names a buffer that the graph does not hold.
    """
    private = {b.name: b for b in graph.buffers if b.memory in (Memory.FRAGMENT, Memory.LOCAL)}
    # A fragment is spread over the role's threads; a scalar of a thread is its own, whatever the role's width.
    sharing = {name: threads if b.memory is Memory.FRAGMENT else max(graph.threads, 1) for name, b in private.items()}
    size = {name: -(-b.registers_per_block // sharing[name]) for name, b in private.items()}
    order = [op for op in graph.ops if op in ops]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    depth = {scope.id: scope for scope in graph.scopes}
    for index, op in enumerate(order):
        for access in (*op.reads, *op.writes):
            if access.buffer in size:
                first.setdefault(access.buffer, index)
                last[access.buffer] = index
    for name in first:
        # A value that crosses a loop's boundary (accumulators, running statistics) lives through the whole loop.
        scopes = {op.scope for op in order if any(a.buffer == name for a in (*op.reads, *op.writes))}
        if len(scopes) > 1 or scopes & spread or _carried(order, name):
            loops = [i for i, op in enumerate(order) if op.scope in scopes and depth[op.scope].parent is not None]
            if loops:
                first[name], last[name] = min(first[name], *loops), max(last[name], *loops)
    peak = 0
    for index, op in enumerate(order):
        live = {name for name in first if first[name] <= index <= last[name]}
        total = sum(size[name] for name in live)
        if op.kind in IN_PLACE:
            dying = [size[a.buffer] for a in op.reads if a.buffer in live and last[a.buffer] == index]
            born = [size[a.buffer] for a in op.writes if a.buffer in live and first[a.buffer] == index]
            if dying and born:
                total -= min(max(dying), max(born))
        peak = max(peak, total)
    return peak


def _holds_fragments(graph: KernelGraph, ops: Sequence[Op]) -> bool:
    memories = {graph.buffer(access.buffer).memory for op in ops for access in (*op.reads, *op.writes)}
    return Memory.FRAGMENT in memories


def _carried(order: Sequence[Op], name: str) -> bool:
    """Whether a fragment's first access inside its loop is a read: its value comes from the iteration before."""
    for op in order:
        if any(a.buffer == name for a in op.reads):
            return True
        if any(a.buffer == name for a in op.writes):
            return False
    return False


def launch_registers(machine: Machine, threads: int, min_blocks: int, largest_budget: int) -> int:
    """Registers a thread is launched with; ``largest_budget`` 0 means that no role changes its registers."""
    cap = min(machine.max_registers_per_thread, machine.registers_per_sm // (threads * max(1, min_blocks)) // 8 * 8)
    return min(cap, largest_budget) if largest_budget else cap


def role_registers(graph: KernelGraph, machine: Machine, schedule: WarpSchedule) -> dict[str, Registers]:
    """Need and budget of every role. A role with fragments needs them and a base, one with scalars only these."""
    threads = WARP * schedule.num_warps
    launch = launch_registers(
        machine, threads, graph.min_blocks_per_sm, max(role.registers_per_thread for role in schedule.roles)
    )
    placed: dict[str, list[str]] = {role.name: [] for role in schedule.roles}
    for program in schedule.scopes:
        for body in program.bodies:
            placed[body.role].extend(i.id for i in body.instructions if i.kind == "op")
    result: dict[str, Registers] = {}
    for role in schedule.roles:
        ids = set(placed[role.name])
        ops = [op for op in graph.ops if op.id in ids]
        spread = frozenset(
            program.scope
            for program in schedule.scopes
            if len({entry.stage for entry in program.body(role.name) if entry.kind == "sync"}) > 1
        )
        fragments = live_fragments(graph, ops, WARP * role.warps, spread)
        # A role with nothing but scalars of its own only issues; the least budget holds it (ptxas 13.0 spills nothing at 24).
        needed = fragments + machine.base_registers if _holds_fragments(graph, ops) else fragments
        result[role.name] = Registers(needed, role.registers_per_thread or launch)
    return result
