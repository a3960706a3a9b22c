"""Scheduling problems of an Ascend kernel, one per scheduler call: a loop body (modulo) or a straight-line list.

The values are exactly the arguments of TileLang's two scheduler hooks (TileLang 0.1.15 wheel,
``ascend/transform/z3_scheduler.py:67-76`` and ``:269-286``), closed over the kernel: nothing else is needed to solve,
check or replay a call. Times are cycles, sizes bytes of one version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpwright.solver.domain import DocumentError

__all__ = [
    "CONSTRAINT_SET",
    "NO_LIMIT",
    "PIPE_BITS",
    "LoopProblem",
    "MemoryGroup",
    "Problem",
    "StraightProblem",
    "problem_from_call",
]

CONSTRAINT_SET = "ascend-buffer/2"
"""Version of the Ascend families: a change of any rule changes it and makes stored results stale."""

PIPE_BITS: dict[str, int] = {"mte1": 1, "mte2": 2, "mte3": 4, "cube": 8, "vector": 16, "fixpipe": 32, "scalar": 64}
"""Bits of a task's ``resource_flags`` (TileLang 0.1.15 wheel, ``src/ascend/transform/ascend_pipe.h:50-63``)."""

GROUP_NAMES = ("shared", "shared.l0a", "shared.l0b", "shared.l0c", "shared.l1")
"""Order in which TileLang passes its memory groups (``auto_schedule.cc``: a ``std::map`` keyed by scope name)."""

NO_LIMIT = 1 << 40
"""Bytes of a memory whose limit the user lifted: TileLang's own value (TileLang 0.1.15 wheel, ``auto_schedule.cc:1347-1350``)."""

_TIME_LIMIT = 1 << 50


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """Buffers of one scope that share the space that fixed and non-eligible buffers leave: ``sum versions * bytes <= limit``."""

    name: str
    limit_bytes: int
    buffers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StraightProblem:
    """A straight-line task list: minimise the makespan. Dependences are ``(before, after, lag)``."""

    latencies: tuple[int, ...]
    iis: tuple[int, ...]
    resource_flags: tuple[int, ...]
    data_deps: tuple[tuple[int, int, int], ...]
    resource_deps: tuple[tuple[int, int], ...]
    owner_exclusion_deps: tuple[tuple[int, int, int, int], ...] = ()
    pipe_order_deps: tuple[tuple[int, int], ...] = ()

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.latencies)


@dataclass(frozen=True, slots=True)
class LoopProblem:
    """A loop body: minimise the initiation interval, then bytes, then the schedule length.

    ``data_deps`` are ``(u, v, distance, lag)``: ``start_v - start_u >= lag - II * distance``; a negative distance
    ``-(b + 1)`` stands for the version count of buffer b. ``resource_deps`` pairs exclude each other modulo II for their
    issue intervals (only pairs with first < second count, as in TileLang), ``owner_exclusion_deps`` for their two lags.
    """

    num_stages: int
    latencies: tuple[int, ...]
    iis: tuple[int, ...]
    resource_flags: tuple[int, ...]
    data_deps: tuple[tuple[int, int, int, int], ...]
    resource_deps: tuple[tuple[int, int], ...]
    owner_exclusion_deps: tuple[tuple[int, int, int, int], ...] = ()
    pipe_order_deps: tuple[tuple[int, int], ...] = ()
    buffer_sizes: tuple[int, ...] = ()
    memory_groups: tuple[MemoryGroup, ...] = ()
    stage_order_deps: tuple[tuple[int, int], ...] = ()
    enable_offset: bool = False
    manual_stages: tuple[int, ...] = ()
    manual_schedule: bool = False
    names: tuple[str, ...] = field(default=(), compare=False)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.latencies)

    @property
    def buffers(self) -> int:
        """Number of buffers whose version count is free."""
        return len(self.buffer_sizes)

    def bytes_of(self, versions: Sequence[int]) -> int:
        """On-chip bytes of these version counts, over all groups."""
        return sum(size * count for size, count in zip(self.buffer_sizes, versions, strict=True))


Problem = LoopProblem | StraightProblem


def problem_from_call(call: Mapping[str, Any]) -> Problem:
    """The problem of one captured or live scheduler call.

    ``call`` holds the hook's arguments by name and ``kind`` (``loop`` or ``straight``); a captured file's call object
    (with ``inputs``) is accepted too.

    Raises:
        DocumentError: ``call-invalid`` with the field, for a missing field, a wrong type, arity or index.
    """
    inputs = call.get("inputs", call)
    if not isinstance(inputs, Mapping):
        raise _invalid("a call must be an object with the scheduler's arguments", "inputs")
    kind = inputs.get("kind", "loop" if "num_stages" in inputs else "straight")
    if kind not in ("loop", "straight"):
        raise _invalid(f"kind must be 'loop' or 'straight', not {kind!r}", "kind")
    latencies = _integers(inputs, "latencies", least=0)
    tasks = len(latencies)
    if tasks < 1:
        raise _invalid("a call needs at least one task", "latencies")
    iis = _integers(inputs, "iis", least=0)
    flags = _integers(inputs, "resource_flags", least=0)
    for name, values in (("iis", iis), ("resource_flags", flags)):
        if len(values) != tasks:
            raise _invalid(f"{len(values)} values for {tasks} tasks", name)
    pairs = _tuples(inputs, "resource_deps", 2, tasks)
    owners = _tuples(inputs, "owner_exclusion_deps", 4, tasks, optional=True)
    orders = _tuples(inputs, "pipe_order_deps", 2, tasks, optional=True)
    if kind == "straight":
        arcs = _tuples(inputs, "data_deps", 3, tasks)
        _lags("data_deps", arcs, (2,))
        _lags("owner_exclusion_deps", owners, (2, 3))
        return StraightProblem(latencies, iis, flags, arcs, pairs, owners, orders)  # type: ignore[arg-type]  # arity checked
    return _loop(inputs, latencies, iis, flags, pairs, owners, orders)


def _loop(
    inputs: Mapping[str, Any],
    latencies: tuple[int, ...],
    iis: tuple[int, ...],
    flags: tuple[int, ...],
    pairs: tuple[tuple[int, ...], ...],
    owners: tuple[tuple[int, ...], ...],
    orders: tuple[tuple[int, ...], ...],
) -> LoopProblem:
    tasks = len(latencies)
    stages = inputs.get("num_stages")
    if not isinstance(stages, int) or isinstance(stages, bool) or stages < 1:
        raise _invalid(f"num_stages must be a whole number from 1, not {stages!r}", "num_stages")
    sizes = _integers(inputs, "buffer_sizes", least=0)
    arcs = _tuples(inputs, "data_deps", 4, tasks)
    _lags("data_deps", arcs, (3,))
    _lags("owner_exclusion_deps", owners, (2, 3))
    for arc in arcs:
        if arc[2] < -len(sizes):
            raise _invalid(f"distance {arc[2]} names buffer {-arc[2] - 1}, but there are {len(sizes)}", "data_deps")
    groups = []
    for position, group in enumerate(_sequence(inputs, "memory_groups", optional=True)):
        values = _whole_numbers(group, "memory_groups")
        if not values or any(not 0 <= b < len(sizes) for b in values[1:]):
            raise _invalid(f"group {position} needs a limit and buffer indices below {len(sizes)}", "memory_groups")
        name = GROUP_NAMES[position] if position < len(GROUP_NAMES) else f"group {position}"
        groups.append(MemoryGroup(name, values[0], tuple(values[1:])))
    manual = bool(inputs.get("manual_schedule", False))
    offset = bool(inputs.get("enable_offset", False))
    manual_stages = _integers(inputs, "manual_stages", least=None, optional=True)
    if manual:
        if len(manual_stages) != tasks:
            raise _invalid(f"a manual schedule has {len(manual_stages)} stages for {tasks} tasks", "manual_stages")
        if min(manual_stages) < 0:
            raise _invalid(f"manual stages must not be negative: {list(manual_stages)}", "manual_stages")
        if not offset and any(manual_stages):
            raise _invalid("manual stages other than 0 need enable_offset", "manual_stages")
    return LoopProblem(
        num_stages=stages,
        latencies=latencies,
        iis=iis,
        resource_flags=flags,
        data_deps=arcs,  # type: ignore[arg-type]  # arity checked by _tuples
        resource_deps=pairs,  # type: ignore[arg-type]  # arity checked by _tuples
        owner_exclusion_deps=owners,  # type: ignore[arg-type]  # arity checked by _tuples
        pipe_order_deps=orders,  # type: ignore[arg-type]  # arity checked by _tuples
        buffer_sizes=sizes,
        memory_groups=tuple(groups),
        stage_order_deps=_tuples(inputs, "stage_order_deps", 2, tasks, optional=True),  # type: ignore[arg-type]  # checked
        enable_offset=offset,
        manual_stages=manual_stages,
        manual_schedule=manual,
    )


def _invalid(message: str, place: str) -> DocumentError:
    return DocumentError(message, code="call-invalid", place=place)


def _sequence(inputs: Mapping[str, Any], name: str, *, optional: bool = False) -> Sequence[Any]:
    value = inputs.get(name)
    if value is None and optional:
        return ()
    if not isinstance(value, list | tuple):
        raise _invalid(f"expected a list, found {type(value).__name__}", name)
    return value


def _whole_numbers(value: Any, name: str) -> tuple[int, ...]:
    if not isinstance(value, list | tuple):
        raise _invalid(f"expected a list of whole numbers, found {type(value).__name__}", name)
    for item in value:
        if not isinstance(item, int) or isinstance(item, bool):
            raise _invalid(f"expected whole numbers, found {item!r}", name)
        if abs(item) > _TIME_LIMIT:
            raise _invalid(f"{item} is beyond 2^50, where sums of times stop being exact", name)
    return tuple(value)


def _integers(inputs: Mapping[str, Any], name: str, *, least: int | None, optional: bool = False) -> tuple[int, ...]:
    values = _whole_numbers(_sequence(inputs, name, optional=optional), name)
    if least is not None and any(value < least for value in values):
        raise _invalid(f"values must be at least {least}: {min(values)}", name)
    return values


def _tuples(
    inputs: Mapping[str, Any], name: str, arity: int, tasks: int, *, optional: bool = False
) -> tuple[tuple[int, ...], ...]:
    rows = tuple(_whole_numbers(row, name) for row in _sequence(inputs, name, optional=optional))
    for row in rows:
        if len(row) != arity:
            raise _invalid(f"expected {arity} numbers per row, found {len(row)}", name)
        if not (0 <= row[0] < tasks and 0 <= row[1] < tasks):
            raise _invalid(f"row {list(row)} names a task outside 0..{tasks - 1}", name)
    return rows


def _lags(name: str, rows: tuple[tuple[int, ...], ...], columns: tuple[int, ...]) -> None:
    """Lags are never negative in TileLang's calls (``GetDependencyLatency`` starts from 0); the proofs rest on it."""
    for row in rows:
        if any(row[column] < 0 for column in columns):
            raise _invalid(f"row {list(row)} has a negative lag", name)
