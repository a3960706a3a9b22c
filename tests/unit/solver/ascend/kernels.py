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


def nested_graph() -> KernelGraph:
    """The k loop of :func:`gemm_graph` in a loop w that stores its result; the outer call was asked with the inner optimum."""
    from tests.unit.solver.ascend.test_calls import gemm_call

    base = gemm_graph(gemm_call())
    inner = 7 * 1800 + 2646
    """Cycles of k: 8 trips of interval 1800, the last of which ends 2646 cycles after its start."""
    call = {
        "kind": "loop", "num_stages": 2, "latencies": [inner, 900], "iis": [inner, 900], "resource_flags": [10, 32],
        "data_deps": [[0, 1, 0, inner], [1, 0, 1, 900]], "resource_deps": [], "buffer_sizes": [], "memory_groups": [],
    }  # fmt: skip
    store = replace(base.ops[0], id="store_C", scope="w", latency_cycles=900)
    root, k = base.scopes
    scopes = (
        replace(root, items=("w",)),
        Scope("w", ScopeKind.SERIAL, ROOT, 4, ("k", "store_C"), 2),
        replace(k, parent="w"),
    )
    outer = SchedulerCall("w", ("k", "store_C"), (), json.dumps(call, sort_keys=True))
    return replace(base, ops=(*base.ops, store), scopes=scopes, calls=(*base.calls, outer))


def straight_graph(call: dict[str, object]) -> KernelGraph:
    """A root of straight-line tasks with this scheduler call."""
    base = graph_with({"x": (Memory.UB, 64)})
    tasks = tuple(f"task_{number}" for number in range(len(call["latencies"])))  # type: ignore[arg-type]  # a list
    ops = tuple(replace(base.ops[0], id=name, scope=ROOT) for name in tasks)
    scopes = (replace(base.scopes[0], items=tasks),)
    made = SchedulerCall(ROOT, tasks, (), json.dumps(call, sort_keys=True))
    return replace(
        base, ops=ops, scopes=scopes, calls=(made,), buffers=tuple(replace(b, owners=()) for b in base.buffers)
    )
