"""The structural choices of a warp schedule that candidates differ in, and which of them a kernel allows.

A structure is an engineer's description of a schedule: how many consumer warpgroups, one barrier for several tiles or one
each, how deep, who stores, how registers are split, whether iterations overlap inside a role. The solver fills in the rest.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from warpwright.solver.device.cycles import LOADS
from warpwright.solver.device.instruction import remarks
from warpwright.solver.device.limits import LARGEST_DEPTH, USEFUL_REGISTERS, WARPGROUP, WARPGROUP_THREADS, read_limits
from warpwright.solver.device.shared_memory import area_bytes, shared_buffers, static_bytes
from warpwright.solver.device.wgmma import partition
from warpwright.solver.domain import (
    ROOT,
    DepthPin,
    GemmShape,
    HardwareProfile,
    KernelGraph,
    Memory,
    OpKind,
    Pins,
    PipelinePin,
    PlacementPin,
    RolePin,
    ScopeKind,
)

__all__ = ["Space", "Structure", "products_of", "register_splits", "space_of"]

LARGEST_CONSUMER_WARPGROUPS = 4
LOAD_WARPGROUPS = 1


@dataclass(frozen=True, slots=True)
class Structure:
    """One point of the space. ``depths`` has one entry per loaded buffer; registers 0/0 leave them as launched."""

    warpgroups: int
    merged: bool
    depths: tuple[tuple[str, int], ...]
    store_role: bool
    load_registers: int
    consumer_registers: int
    overlapped: bool = False
    grouped: tuple[tuple[str, ...], ...] = ()
    """Buffers that share a pipeline, group by group; empty if ``merged`` decides for all."""
    unsplit: tuple[str, ...] = ()
    """Loads that run in the consumer, so that there is no load role."""

    def depth(self, buffer: str) -> int:
        """Versions of a buffer; 1 if it is not loaded in a loop."""
        return dict(self.depths).get(buffer, 1)

    def pins(self) -> Pins:
        """The structure as pins for the solver."""
        roles = [RolePin("consumer", registers_per_thread=self.consumer_registers)]
        if self.depths:
            roles.append(RolePin("load", registers_per_thread=self.load_registers))
        if self.store_role:
            roles.append(RolePin("store", registers_per_thread=self.load_registers))
        return Pins(
            placements=tuple(PlacementPin(op, "consumer") for op in self.unsplit),
            roles=tuple(roles),
            depths=tuple(DepthPin(name, depth) for name, depth in self.depths),
            consumer_warpgroups=self.warpgroups,
            store_role=self.store_role,
            pipelines=tuple(PipelinePin(names) for names in self.grouped),
            merged_pipelines=None if self.grouped else self.merged,
            software_pipelining=self.overlapped,
        )

    def described(self) -> dict[str, str]:
        """The structure in words, for tables and reports."""
        registers = f"{self.load_registers}/{self.consumer_registers}" if self.consumer_registers else "as launched"
        if self.unsplit:
            return {"consumer_warpgroups": str(self.warpgroups), "roles": "one", "registers": registers}
        return {
            "consumer_warpgroups": str(self.warpgroups),
            "pipelines": "one per product" if self.grouped else "merged" if self.merged else "separate",
            "depth": ",".join(f"{name}={depth}" for name, depth in self.depths),
            "store": "own role" if self.store_role else "consumer",
            "registers": registers,
            "iterations": "overlapped" if self.overlapped else "in order",
        }


def products_of(graph: KernelGraph, profile: HardwareProfile) -> dict[str, str]:
    """The instruction of the kernel's products, as part of its description, where it is not the device's fastest."""
    limits = read_limits(profile)
    slow = remarks(graph, wgmma=limits.wgmma, tcgen05=limits.tcgen05)
    return {"products": "by mma.sync"} if slow else {}


@dataclass(frozen=True, slots=True)
class Space:
    """The choices of a kernel: loaded buffers by loop with their bytes, widths, and which choices exist."""

    graph: KernelGraph
    loaded: Mapping[str, tuple[str, ...]]
    fixed_bytes: int
    widths: tuple[int, ...]
    can_merge: bool
    can_store: bool
    can_overlap: bool
    operands: tuple[tuple[str, ...], ...] = ()
    """Loaded buffers that the same operations read, if there are several such groups: a pipeline for each is a choice."""
    unsplit: tuple[str, ...] = ()
    """All loads of a kernel without products whose loops neither load nor store: each role would run once, and the consumer
    would wait for the load role as long as for its own loads."""

    def bytes_of(self, structure: Structure) -> int:
        """Least shared memory of the structure: all versions, and barriers as if one pipeline had them all."""
        ring = sum(area_bytes(self.graph, self.graph.buffer(name).bytes, depth) for name, depth in structure.depths)
        return self.fixed_bytes + ring + self.barrier_bytes(structure)

    def barrier_bytes(self, structure: Structure) -> int:
        """Static shared memory of the deepest pipeline alone."""
        return static_bytes([max((depth for _, depth in structure.depths), default=0)])

    def base(self, profile: HardwareProfile, warpgroups: int, pins: Pins) -> Iterator[Structure]:
        """Every uniform depth of one width, shallow first, up to the first that does not fit; pins are kept."""
        fixed = {pin.buffer: pin.depth for pin in pins.depths}
        names = [name for names in self.loaded.values() for name in names]
        free = [name for name in names if name not in fixed]
        merged, store = pins.merged_pipelines is True, pins.store_role is True
        overlapped = pins.software_pipelining is True
        if self.unsplit:
            yield Structure(warpgroups, merged, (), store, 0, 0, overlapped, unsplit=self.unsplit)
            return
        load, consumer = register_splits(profile, warpgroups)[0]
        for depth in range(1, LARGEST_DEPTH + 1):
            depths = tuple((name, fixed.get(name, depth)) for name in names)
            structure = Structure(warpgroups, merged, depths, store, load, consumer, overlapped)
            yield structure
            if not free or not self.fits(structure, profile):
                return

    def fits(self, structure: Structure, profile: HardwareProfile) -> bool:
        """Whether the buffers fit a block's shared memory; the rule has the last word."""
        return self.bytes_of(structure) <= profile.integer("shared.per_block", "bytes")

    def refined(self, structure: Structure, profile: HardwareProfile) -> Iterator[Structure]:
        """Neighbours of a good structure: merging, a store role, register splits, one deeper buffer, overlap."""
        if self.unsplit:
            return
        if self.can_merge:
            yield replace(structure, merged=True)
        if self.can_store:
            yield replace(structure, store_role=True)
        if self.can_merge and self.can_store:
            yield replace(structure, merged=True, store_role=True)
        if self.operands:
            yield replace(structure, merged=False, grouped=self.operands)
        if self.operands and self.can_store:
            yield replace(structure, merged=False, grouped=self.operands, store_role=True)
        for load, consumer in register_splits(profile, structure.warpgroups)[1:]:
            yield replace(structure, load_registers=load, consumer_registers=consumer)
        deeper = replace(structure, depths=tuple((name, depth + 1) for name, depth in structure.depths))
        if len(structure.depths) > 1 and not self.fits(deeper, profile):
            for index, (name, depth) in enumerate(structure.depths):
                changed = list(structure.depths)
                changed[index] = (name, depth + 1)
                yield replace(structure, depths=tuple(changed))
        if self.can_overlap:
            yield replace(structure, overlapped=True)


def space_of(graph: KernelGraph, plain: Collection[str] = ()) -> Space:
    """The space of a kernel graph; ``plain`` names loads that no pipeline can take
    (:mod:`warpwright.solver.warp.layout.plain_copies`).
    """
    loops = [scope for scope in graph.scopes if scope.kind is not ScopeKind.ROOT]
    loads = [op for op in graph.ops if op.kind in LOADS and op.id not in plain]
    loaded: dict[str, tuple[str, ...]] = {}
    for scope in loops:
        names = dict.fromkeys(
            access.buffer
            for op in loads
            if op.scope == scope.id
            for access in op.writes
            if graph.buffer(access.buffer).memory is Memory.SHARED
        )
        if names:
            loaded[scope.id] = tuple(names)
    stores = any(op.kind is OpKind.TMA_STORE and op.scope != ROOT for op in graph.ops)
    ring = {name for names in loaded.values() for name in names}
    fixed = sum(area_bytes(graph, b.bytes) for b in shared_buffers(graph) if b.name not in ring)
    shapes = [op.gemm for op in graph.ops if op.gemm is not None]
    products = {scope.id: sum(op.gemm is not None for op in graph.ops_in(scope.id)) for scope in loops}
    return Space(
        graph,
        loaded,
        fixed,
        _widths(graph, shapes),
        can_merge=any(len(names) > 1 for names in loaded.values()),
        can_store=any(op.kind is OpKind.TMA_STORE for op in graph.ops),
        can_overlap=any(count > 1 for count in products.values()),
        operands=_operands(graph, loaded),
        unsplit=() if loaded or stores or shapes else tuple(op.id for op in loads),
    )


def _operands(graph: KernelGraph, loaded: Mapping[str, tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Groups of loaded buffers with the same readers; none if they would be one pipeline for all or one for each."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for scope, names in loaded.items():
        for name in names:
            readers = tuple(op.id for op in graph.ops if name in {access.buffer for access in op.reads})
            groups.setdefault((scope, readers), []).append(name)
    shared = tuple(tuple(names) for names in groups.values() if len(names) > 1)
    return shared if len(groups) > len(loaded) else ()


def register_splits(profile: HardwareProfile, consumer_warpgroups: int) -> list[tuple[int, int]]:
    """(load, consumer) budgets to try, best first: all spare registers to the consumers, a middle split, none moved.

    One auxiliary warpgroup beside the consumers; the pool is what the block is launched with.
    """
    if not profile.flag("features.setmaxnreg"):
        return [(0, 0)]
    limits = read_limits(profile)
    step, groups = limits.setmaxnreg_step, consumer_warpgroups + LOAD_WARPGROUPS
    pool = groups * limits.launch_registers(WARPGROUP_THREADS * groups, 1)
    least, most = limits.setmaxnreg_minimum, min(limits.thread_registers // step * step - step, USEFUL_REGISTERS)
    splits = []
    for load in (least, least + 2 * step):
        consumer = min(most, (pool - LOAD_WARPGROUPS * load) // consumer_warpgroups // step * step)
        if consumer > load:
            splits.append((load, consumer))
    return [*dict.fromkeys(splits), (0, 0)]


def _widths(graph: KernelGraph, shapes: list[GemmShape]) -> tuple[int, ...]:
    """Consumer warpgroups over which every warpgroup product can be split and the fragments laid out, the kernel's own
    width first.
    """
    own = max(1, graph.threads // WARPGROUP_THREADS)
    if not shapes:
        return (own,)
    refused = {width.warpgroups for width in graph.refused_widths}
    fits = [
        count
        for count in range(1, LARGEST_CONSUMER_WARPGROUPS + 1)
        if count not in refused and all(partition(shape, WARPGROUP * count) is not None for shape in shapes)
    ]
    return tuple(sorted(fits, key=lambda count: (count != own, abs(count - own), count)))
