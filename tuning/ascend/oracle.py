"""A second opinion on capacity from Huawei's own memory planner: ``bishengir-opt`` of the Apache-licensed ascendnpu-ir wheel.

Optional (extra ``ascend-oracle``). A schedule's buffers with their versions are written as HIVM, all live together inside one
loop, and planned with ``--hivm-plan-memory`` for the profile's chip; an overflow comes back as exit code 1 with the bits it
needs. The planner covers UB, L1 and L0C. Plain Python; the vendor's binary is a process of its own.
"""

import importlib.util
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.domain import HardwareProfile, KernelGraph, Memory

__all__ = ["SPACES", "Opinion", "Oracle", "chip_bytes", "find_oracle", "opinion_text", "opinions"]

SPACES: dict[Memory, str] = {Memory.UB: "ub", Memory.L1: "cbuf", Memory.L0C: "cc"}
"""Memories that the vendor's planner plans, and their HIVM address spaces."""

TARGETS: dict[str, tuple[str, str]] = {
    "ascend910b": ("bishengir-opt", "Ascend910B1"),
    "ascend910c": ("bishengir-opt", "Ascend910_9391"),
    "ascend950": ("bishengir-opt-a5", "Ascend950PR_9599"),
}
"""Profile -> tool and device-spec name. The first tool does not know the 950, the second does not know the 910s."""

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Opinion:
    """The planner's verdict on one memory: whether it fits, and what it needs if it does not."""

    memory: Memory
    fits: bool
    needed_bytes: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Oracle:
    """The vendor's tools; ``folder`` holds the binaries."""

    folder: Path

    def plan(self, memory: Memory, buffers: Sequence[tuple[int, int]], profile_name: str) -> Opinion:
        """Plan buffers of one memory, each ``(bytes of one version, versions)``, all live at once.

        Raises:
            KeyError: the profile names no chip that the tools know, or the planner does not plan this memory.
            RuntimeError: the tool ended with neither a plan nor an overflow.
        """
        tool, target = TARGETS[profile_name]
        command = [str(self.folder / tool), "-", f"--hacc-append-device-spec=target={target}", "--hivm-plan-memory"]
        text = hivm(SPACES[memory], buffers)
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode == 0:
            return Opinion(memory, True, None, "planned")
        overflow = re.search(r"overflow, requires (\d+) bits while (\d+) bits available", done.stderr)
        if overflow is None:
            raise RuntimeError(f"{tool} ended with {done.returncode}: {done.stderr[:300]}")
        needed = int(overflow.group(1)) // 8
        return Opinion(memory, False, needed, f"{needed} bytes needed, {int(overflow.group(2)) // 8} available")


def find_oracle() -> Oracle | None:
    """The tools of an installed ascendnpu-ir wheel, or None."""
    spec = importlib.util.find_spec("ascendnpuir")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "bin"
    return Oracle(folder) if (folder / "bishengir-opt").is_file() else None


def hivm(space: str, buffers: Sequence[tuple[int, int]]) -> str:
    """A function that keeps all buffers live: loads every one, and after the last one loads them all again."""
    on_chip = [f"memref<{size}xi8, #hivm.address_space<{space}>>" for size, _ in buffers]
    remote = [f"memref<{size}xi8, #hivm.address_space<gm>>" for size, _ in buffers]
    arguments = ", ".join(f"%g{i}: {ty}" for i, ty in enumerate(remote))
    core = "AIV" if space == "ub" else "AIC"
    kind = "hacc.function_kind = #hacc.function_kind<DEVICE>"
    attributes = f"hacc.entry, {kind}, hivm.func_core_type = #hivm.func_core_type<{core}>"
    lines = [
        "module {",
        f"  func.func @plan({arguments}) attributes {{{attributes}}} {{",
        "    %c0 = arith.constant 0 : index",
        "    %c1 = arith.constant 1 : index",
        "    %c64 = arith.constant 64 : index",
        "    scf.for %i = %c0 to %c64 step %c1 {",
    ]
    for i, (_, versions) in enumerate(buffers):
        lines.append(f"      %b{i} = memref.alloc() : {on_chip[i]}")
        if versions > 1:
            lines.append(f"      annotation.mark %b{i} {{hivm.multi_buffer = {versions} : i32}} : {on_chip[i]}")
    for _ in range(2):
        lines += [
            f"      hivm.hir.load ins(%g{i} : {remote[i]}) outs(%b{i} : {on_chip[i]})" for i in range(len(buffers))
        ]
    return "\n".join([*lines, "    }", "    return", "  }", "}", ""])


def opinions(
    oracle: Oracle, graph: KernelGraph, profile: HardwareProfile, versions: Mapping[str, int]
) -> list[tuple[kernel_capacity.MemoryUse, Opinion]]:
    """Warpwright's use of each memory with the planner's opinion of the same buffers; empty for chips it does not know.

    Both count all buffers of the peak as live together, and the whole unified buffer (the planner knows no SIMT share).
    """
    if profile.name not in TARGETS:
        return []
    return [
        (use, oracle.plan(use.memory, [(_bytes(graph, p.name), p.versions) for p in use.live], profile.name))
        for use in kernel_capacity.uses(graph, profile, versions)
        if use.memory in SPACES and use.live
    ]


def opinion_text(
    oracle: Oracle | None, graph: KernelGraph, profile: HardwareProfile, versions: Mapping[str, int]
) -> str:
    """One line for a certificate; empty without the tools or for a chip they do not know."""
    if oracle is None:
        return ""
    parts = []
    for use, opinion in opinions(oracle, graph, profile, versions):
        limit = chip_bytes(profile, use.memory)
        agrees = opinion.fits == (use.needed_bytes <= limit)
        verdict = "agrees" if agrees else "DISAGREES"
        parts.append(f"{use.memory.value} {verdict} ({use.needed_bytes} of {limit} bytes; {opinion.message})")
    return f"bishengir-opt, {TARGETS[profile.name][1]}: " + "; ".join(parts) if parts else ""


def chip_bytes(profile: HardwareProfile, memory: Memory) -> int:
    """The whole memory as the planner counts it: nothing reserved, no SIMT share."""
    return profile.integer(f"{kernel_capacity.SECTIONS[memory]}.bytes", "bytes")


def _bytes(graph: KernelGraph, name: str) -> int:
    return graph.buffer(name).bytes
