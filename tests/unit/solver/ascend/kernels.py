"""Small graphs of Ascend kernels for the plain tests."""

import json
from dataclasses import replace

from warpwright.solver.domain import (
    ROOT,
    Access,
    Buffer,
    Issue,
    KernelGraph,
    Memory,
    Op,
    OpKind,
    SchedulerCall,
    Scope,
    ScopeKind,
    TargetFamily,
)

SCOPES = {
    Memory.UB: "shared.dyn",
    Memory.L1: "shared.l1",
    Memory.L0A: "shared.l0a",
    Memory.L0B: "shared.l0b",
    Memory.L0C: "shared.l0c",
}


def graph_with(
    buffers: dict[str, tuple[Memory, int]], *, simt: bool = False, share: dict[str, tuple[str, ...]] | None = None
) -> KernelGraph:
    """A kernel of one loop ``k`` that touches these buffers (memory, bytes) in one task."""
    made = tuple(
        Buffer(
            name,
            memory,
            (size,),
            "uint8",
            size,
            private=False,
            source_scope=SCOPES[memory],
            owners=("k",),
            may_share=(share or {}).get(name, ()),
        )
        for name, (memory, size) in buffers.items()
    )
    accesses = tuple(Access(name, size) for name, (_, size) in buffers.items())
    task = Op("task", OpKind.TASK, "k", Issue.ASYNCHRONOUS, 10, (), accesses, accesses)
    scopes = (Scope(ROOT, ScopeKind.ROOT, None, 1, ("k",)), Scope("k", ScopeKind.SERIAL, ROOT, 8, ("task",), 2))
    return KernelGraph("k", TargetFamily.ASCEND, "dav-3510", 1, (1,), made, (task,), scopes, (), simt=simt)


def gemm_graph(call: dict[str, object], *, sizes: tuple[int, int] = (65536, 57344)) -> KernelGraph:
    """A k loop of two loads and a product with this scheduler call; A and B in L1, C in L0C."""
    base = graph_with({"A": (Memory.L1, sizes[0]), "B": (Memory.L1, sizes[1]), "C": (Memory.L0C, 229376)}, simt=True)
    arguments = json.dumps(call, sort_keys=True)
    tasks = ("load_A", "load_B", "gemm_C")
    scopes = (base.scopes[0], replace(base.scopes[1], items=tasks))
    ops = tuple(replace(base.ops[0], id=name) for name in tasks)
    owners = tuple(replace(b, owners=() if b.name == "C" else ("k",)) for b in base.buffers)
    calls = (SchedulerCall("k", tasks, ("A", "B"), arguments),)
    return replace(base, buffers=owners, ops=ops, scopes=scopes, calls=calls)
