"""Small graphs of Ascend kernels for the plain tests."""

from solver.domain import ROOT, Access, Buffer, Issue, KernelGraph, Memory, Op, OpKind, Scope, ScopeKind, TargetFamily

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
