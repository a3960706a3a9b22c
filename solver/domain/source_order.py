"""Where a kernel's operations are: inside which loops, in which order, and which values live across iterations."""

from collections.abc import Collection, Sequence

from warpwright.solver.domain.kernel import ROOT, Issue, KernelGraph, Op, Scope, ScopeKind

__all__ = ["SourceOrder"]


class SourceOrder:
    """Lookups over one kernel graph that would be slow with the graph's own lists.

    ``ops`` and ``scopes`` are by id. An unknown id raises KeyError.
    """

    def __init__(self, graph: KernelGraph) -> None:
        self.graph = graph
        self.ops: dict[str, Op] = {op.id: op for op in graph.ops}
        self.scopes: dict[str, Scope] = {scope.id: scope for scope in graph.scopes}

    def path_to(self, scope_id: str) -> tuple[str, ...]:
        """Scopes from the root down to this one."""
        path: list[str] = []
        current: str | None = scope_id
        while current is not None:
            path.append(current)
            current = self.scopes[current].parent
        return tuple(reversed(path))

    def meeting_scope(self, first: Op, second: Op) -> str:
        """The innermost scope that contains both operations."""
        common = ROOT
        for left, right in zip(self.path_to(first.scope), self.path_to(second.scope), strict=False):
            if left != right:
                break
            common = left
        return common

    def item_in(self, scope_id: str, op: Op) -> str:
        """The item of a scope that is or contains an operation."""
        path = (*self.path_to(op.scope), op.id)
        return path[path.index(scope_id) + 1]

    def comes_first(self, first: Op, second: Op) -> bool:
        """Whether an operation is before another in the source, in the innermost scope that contains both."""
        scope = self.meeting_scope(first, second)
        items = self.scopes[scope].items
        return items.index(self.item_in(scope, first)) < items.index(self.item_in(scope, second))

    def below(self, scope_id: str) -> list[Op]:
        """Every operation of a scope and its child loops, in source order."""
        return self._ops_of(self.scopes[scope_id].items)

    def _ops_of(self, items: Sequence[str]) -> list[Op]:
        ordered: list[Op] = []
        for item in items:
            ordered += self.below(item) if item in self.scopes else [self.ops[item]]
        return ordered

    def loop_carried(self, buffer: str, scope_id: str, values: Sequence[Collection[str]] = ()) -> str:
        """Why a buffer may have only one version in this scope; empty if each value is new.

        A value that lives from one iteration to the next (a read before the first whole write, a partial or guarded first
        write) would be the value of ``depth`` iterations ago in a versioned buffer. TileLang does not check it (rules
        1.14.8). Parts that asynchronous loads fill together count as a whole. ``values`` are the items of each hand-off where
        an iteration has several: every one has a version of its own, so what one of them leaves over, the next one does not
        see.
        """
        if len(values) > 1:
            items = self.scopes[scope_id].items
            within = [[item for item in items if item in value] for value in values]
            found = (
                _lives_on(self._ops_of(some), buffer, "of a span earlier", scope_id, parts=False) for some in within
            )
            return next((reason for reason in found if reason), "")
        if self.scopes[scope_id].kind is ScopeKind.ROOT:
            return ""
        return _lives_on(self.below(scope_id), buffer, "of an iteration earlier", scope_id, parts=True)


def _lives_on(ops: Sequence[Op], buffer: str, since: str, scope_id: str, *, parts: bool) -> str:
    """Why the first of these operations that touches the buffer in the scope needs its old content; empty if none does.

    ``parts``: asynchronous loads of parts make a whole together. A product that clears its result at the start of a loop
    inside the scope adds to its own value only.
    """
    for op in ops:
        begins = op.clears_at_start and op.scope != scope_id and buffer in {access.buffer for access in op.writes}
        if not begins and buffer in {access.buffer for access in op.reads}:
            return f"{op.id} reads its value {since}"
        for access in op.writes:
            if access.buffer != buffer:
                continue
            if op.guarded:
                return f"{op.id} writes it only under a guard"
            if access.whole or (parts and op.issue is Issue.ASYNCHRONOUS):
                return ""
            return f"{op.id} writes only a part of it"
    return ""
