"""Version counts and index modes of every on-chip buffer, who chose each, and the rule that chooses the mode.

``auto`` takes the affine loop index where that is safe and a counter otherwise: several owner loops, an epoch under a
condition, or a loop nest that is not affine (TileLang 0.1.15 wheel, ``prepare_multi_buffer.cc:487-515``).
"""

from collections.abc import Mapping

from warpwright.solver.ascend.pins import opted_out
from warpwright.solver.domain import BufferPin, BufferVersions, ChosenBy, KernelGraph, Memory, ScopeKind, VersionMode

__all__ = ["buffer_versions", "override_warnings", "rule_mode"]


def rule_mode(graph: KernelGraph, buffer: str) -> VersionMode:
    """The mode that ``auto`` chooses for a buffer."""
    owners = graph.buffer(buffer).owners
    scopes = {scope.id: scope for scope in graph.scopes}
    guarded = any(op.guarded and any(access.buffer == buffer for access in (*op.reads, *op.writes)) for op in graph.ops)
    affine = all(
        scopes[owner].kind is not ScopeKind.WHILE and scopes[owner].trips is not None
        for owner in owners
        if owner in scopes
    )
    return VersionMode.COUNTER if len(owners) > 1 or guarded or not affine else VersionMode.ITERATION


def buffer_versions(graph: KernelGraph, chosen: Mapping[str, int]) -> tuple[BufferVersions, ...]:
    """One entry per on-chip buffer, in the graph's order.

    Args:
        graph: The kernel with its pins.
        chosen: Counts that the solver chose, by buffer.
    """
    pins = {pin.buffer: pin for pin in graph.pins.buffers}
    return tuple(
        _entry(graph, buffer.name, pins.get(buffer.name), chosen.get(buffer.name))
        for buffer in graph.buffers
        if buffer.memory is not Memory.GLOBAL
    )


def _entry(graph: KernelGraph, name: str, pin: BufferPin | None, chosen: int | None) -> BufferVersions:
    mode, mode_by = rule_mode(graph, name), ChosenBy.RULE
    if pin is not None and pin.mode not in (None, "auto"):
        mode, mode_by = VersionMode(pin.mode), ChosenBy.USER
    if pin is not None and pin.manual_versions is not None:
        return BufferVersions(name, 1, mode, ChosenBy.USER, mode_by, False, pin.manual_versions)
    if pin is not None and opted_out(pin):
        return BufferVersions(name, 1, mode, ChosenBy.USER, mode_by, eligible=False)
    if pin is not None and pin.versions is not None and graph.buffer(name).owners:
        return BufferVersions(name, pin.versions, mode, ChosenBy.USER, mode_by)
    if not graph.buffer(name).owners:
        return BufferVersions(name, 1, mode, ChosenBy.RULE, mode_by, eligible=False)
    return BufferVersions(name, chosen or 1, mode, ChosenBy.SOLVER, mode_by)


def override_warnings(graph: KernelGraph, explicit: tuple[str, ...]) -> tuple[str, ...]:
    """One warning per storage whose explicit claim (``multi_buffer_eligible``) a count of 1 overrides, and one per
    dropped count.
    """
    found = []
    for pin in graph.pins.buffers:
        if opted_out(pin) and pin.buffer in explicit:
            found.append(
                f"{pin.buffer}: the count 1 overrides its explicit multi_buffer_eligible claim; it keeps one version"
            )
        elif pin.versions is not None and pin.versions > 1 and not graph.buffer(pin.buffer).owners:
            found.append(
                f"{pin.buffer}: {pin.versions} versions were requested, but no loop may keep versions of it; it keeps 1"
            )
    return tuple(dict.fromkeys(found))
