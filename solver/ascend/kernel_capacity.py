"""Capacity of every memory over the whole kernel: all loops together, fixed and non-eligible buffers counted.

TileLang checks one loop at a time, and only scopes that still have a free buffer; in three ways this emits a kernel that
overflows its memory (measured on TileLang 0.1.15). Here each buffer counts with all its versions, each version aligned, and
two buffers share bytes only when they are never live together. The peak is the heaviest set of buffers that are all live at
once: no packing needs less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpwright.solver.domain import Buffer, Conflict, HardwareProfile, KernelGraph, Memory, Violation

__all__ = [
    "NAME",
    "SECTIONS",
    "MemoryUse",
    "SizedBuffer",
    "check",
    "conflict_of",
    "limit_of",
    "live_together",
    "overflows",
    "uses",
]

NAME = "memory_capacity"

SECTIONS: dict[Memory, str] = {
    Memory.UB: "ub",
    Memory.L1: "l1",
    Memory.L0A: "l0a",
    Memory.L0B: "l0b",
    Memory.L0C: "l0c",
}
"""On-chip memories of an Ascend core and the profile's sections that limit them."""


@dataclass(frozen=True, slots=True)
class SizedBuffer:
    """A buffer with its chosen versions and their bytes, each version aligned."""

    name: str
    versions: int
    bytes_per_version: int
    bytes: int


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The content of one memory at its peak; ``live`` are the buffers of that peak."""

    memory: Memory
    needed_bytes: int
    limit_bytes: int
    live: tuple[SizedBuffer, ...]

    @property
    def fits(self) -> bool:
        """Whether the peak is inside the limit."""
        return self.needed_bytes <= self.limit_bytes

    def text(self) -> str:
        """The sum and the limit, for a person."""
        parts = " + ".join(f"{p.name} {p.versions} x {p.bytes_per_version}" for p in self.live)
        return f"{self.memory.value}: {parts} = {self.needed_bytes} bytes needed, {self.limit_bytes} available"


def limit_of(profile: HardwareProfile, memory: Memory, *, simt: bool) -> int:
    """Usable bytes of a memory: the profile's size without its reserve; the unified buffer is smaller with SIMT."""
    section = SECTIONS[memory]
    path = f"{section}.bytes"
    if memory is Memory.UB and simt and profile.has("ub.bytes_with_simt"):
        path = "ub.bytes_with_simt"
    reserved = profile.integer(f"{section}.reserved", "bytes") if profile.has(f"{section}.reserved") else 0
    return profile.integer(path, "bytes") - reserved


def uses(graph: KernelGraph, profile: HardwareProfile, versions: Mapping[str, int]) -> tuple[MemoryUse, ...]:
    """The peak of every memory under these version counts (1 where a buffer is not named)."""
    found = []
    for memory, section in SECTIONS.items():
        alignment = profile.integer(f"{section}.alignment", "bytes") if profile.has(f"{section}.alignment") else 1
        if memory is Memory.UB:
            alignment = max(alignment, 32)
        placed = [
            _placed(buffer, versions.get(buffer.name, 1), alignment)
            for buffer in graph.buffers
            if buffer.memory is memory
        ]
        live = _peak(placed, live_together(graph, [p.name for p in placed]))
        found.append(
            MemoryUse(memory, sum(p.bytes for p in live), limit_of(profile, memory, simt=graph.simt), tuple(live))
        )
    return tuple(found)


def conflict_of(memory: Memory, text: str, needed_bytes: int, limit_bytes: int) -> Conflict:
    """An overflowing memory as a conflict, with how much must be freed."""
    relaxation = f"free {needed_bytes - limit_bytes} bytes: a smaller tile, or fewer fixed versions"
    return Conflict(NAME, text, relaxation, memory.value)


def overflows(
    graph: KernelGraph, profile: HardwareProfile, versions: Mapping[str, int], unlimited: Sequence[str] = ()
) -> tuple[Conflict, ...]:
    """A conflict for each memory whose peak does not fit, unless the user lifted its limit."""
    freed = _freed(unlimited)
    return tuple(
        conflict_of(use.memory, use.text(), use.needed_bytes, use.limit_bytes)
        for use in uses(graph, profile, versions)
        if not use.fits and use.memory.value not in freed
    )


def _freed(unlimited: Sequence[str]) -> set[str]:
    return {name.removeprefix("shared.") if name != "shared" else "ub" for name in unlimited}


def check(
    graph: KernelGraph, profile: HardwareProfile, versions: Mapping[str, int], unlimited: Sequence[str] = ()
) -> list[Violation]:
    """A violation for each memory whose peak does not fit, unless the user lifted its limit."""
    return [
        Violation(NAME, "whole-kernel", conflict.message, conflict.place)
        for conflict in overflows(graph, profile, versions, unlimited)
    ]


def live_together(graph: KernelGraph, names: Sequence[str]) -> set[tuple[str, str]]:
    """Pairs of buffers that may hold live data at the same time: all but those proven to be able to share bytes.

    The proof is the compiler's own lifetime analysis of the scheduled kernel (``tl.buffer_alias_map``).
    """
    share = {buffer.name: set(buffer.may_share) for buffer in graph.buffers}
    pairs = set()
    for index, a in enumerate(names):
        for b in names[index + 1 :]:
            if b not in share.get(a, set()) and a not in share.get(b, set()):
                pairs |= {(a, b), (b, a)}
    return pairs


def _placed(buffer: Buffer, versions: int, alignment: int) -> SizedBuffer:
    each = -(-buffer.bytes // alignment) * alignment
    return SizedBuffer(buffer.name, versions, each, each * versions)


def _peak(placed: Sequence[SizedBuffer], together: set[tuple[str, str]]) -> list[SizedBuffer]:
    """The heaviest set of buffers that are pairwise live together."""
    if all((a.name, b.name) in together for i, a in enumerate(placed) for b in placed[i + 1 :]):
        return list(placed)
    best: list[SizedBuffer] = []
    weight = 0
    stack: list[tuple[list[SizedBuffer], list[SizedBuffer]]] = [([], list(placed))]
    while stack:
        chosen, rest = stack.pop()
        total = sum(p.bytes for p in chosen)
        if total > weight:
            best, weight = chosen, total
        if total + sum(p.bytes for p in rest) <= weight:
            continue
        for position, candidate in enumerate(rest):
            after = [p for p in rest[position + 1 :] if (candidate.name, p.name) in together]
            stack.append(([*chosen, candidate], after))
    return best
