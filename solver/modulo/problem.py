"""A generic modulo scheduling problem: operations on units, edges with latency and distance, warp groups, limits.

The problem is closed: plain numbers, no device, no kernel. It covers what joint software pipelining and warp
specialisation needs (Twill, arXiv 2512.18134, section 4; here in intervals instead of one boolean a cycle): unit
occupancy, storage while a value lives, registers of a group of warps, blocking waits, hand-offs between groups, and
operations of variable latency that need a group of their own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from warpwright.solver.modulo.ranges import (
    Capacity,
    Count,
    Cycles,
    Distance,
    Flag,
    Holdings,
    Name,
    Registers,
    Stages,
    Warps,
)

__all__ = [
    "Group",
    "ModuloEdge",
    "ModuloMemory",
    "ModuloOp",
    "ModuloProblem",
    "ModuloSchedule",
    "ModuloUnit",
    "ModuloWait",
    "Use",
]


class ModuloWait(StrEnum):
    """When the consumer of an edge issues a blocking wait."""

    NEVER = "never"
    """Never: the value is available before (a streamed input of sufficient depth)."""
    ACROSS = "across"
    """Only when producer and consumer are on different groups: a barrier."""
    ALWAYS = "always"
    """Also on one group: an asynchronous producer that must be drained (a warpgroup MMA)."""


@dataclass(frozen=True, slots=True)
class ModuloUnit:
    """A functional unit with ``capacity`` instances."""

    name: Name
    capacity: Capacity


@dataclass(frozen=True, slots=True)
class ModuloMemory:
    """A storage shared by all groups, ``capacity`` in bytes or any other unit of the problem."""

    name: Name
    capacity: Capacity


@dataclass(frozen=True, slots=True)
class Group:
    """Warps that issue together: a single warp or a warpgroup. ``registers`` is the limit of one thread.

    ``variable_latency``: exactly the operations of variable latency run here.
    """

    name: Name
    warps: Warps
    registers: Registers
    variable_latency: Flag = False


@dataclass(frozen=True, slots=True)
class Use:
    """``amount`` instances of a unit, from ``offset`` cycles after issue, for ``cycles`` cycles."""

    unit: Name
    cycles: Cycles
    offset: Cycles = 0
    amount: Count = 1


@dataclass(frozen=True, slots=True)
class ModuloOp:
    """An operation on one tile.

    ``cycles`` is how long it executes after issue: its group may not block on a wait meanwhile. ``warps`` is the least
    size of its group; its result holds ``registers`` per thread and ``memory`` while it lives; ``spill_cycles`` is
    added to every latency if the result goes to another group. ``groups`` pins it to some groups; empty means any.
    """

    id: Name
    cycles: Cycles
    uses: Annotated[tuple[Use, ...], Field(max_length=64)] = ()
    warps: Warps = 1
    registers: Registers = 0
    memory: Holdings = ()
    spill_cycles: Cycles = 0
    variable_latency: Flag = False
    groups: Annotated[tuple[Name, ...], Field(max_length=32)] = ()


@dataclass(frozen=True, slots=True)
class ModuloEdge:
    """``target`` issues at least ``latency`` cycles after ``source`` of ``distance`` iterations before.

    ``value``: the edge carries the source's result, which lives until ``hold`` cycles after the target's issue.
    Without it the edge is an order only: it keeps nothing alive and needs no hand-off.
    """

    source: Annotated[Name, Field(alias="from")]
    target: Annotated[Name, Field(alias="to")]
    latency: Cycles
    distance: Distance = 0
    wait: ModuloWait = ModuloWait.ACROSS
    value: Flag = True
    hold: Cycles = 0


@dataclass(frozen=True, slots=True)
class ModuloProblem:
    """One loop body whose iterations shall overlap. Without groups it is plain modulo scheduling: nothing is placed on warps.

    ``max_stages`` bounds the stage of every issue (``issue // interval``); proofs that exclude an interval hold for
    schedules within it.
    """

    name: Name
    units: Annotated[tuple[ModuloUnit, ...], Field(max_length=64)]
    ops: Annotated[tuple[ModuloOp, ...], Field(min_length=1, max_length=2_000)]
    edges: Annotated[tuple[ModuloEdge, ...], Field(max_length=20_000)]
    memories: Annotated[tuple[ModuloMemory, ...], Field(max_length=64)] = ()
    groups: Annotated[tuple[Group, ...], Field(max_length=32)] = ()
    max_stages: Stages = 4
    title: Name = ""

    def users(self, op: ModuloOp) -> Iterator[ModuloEdge]:
        """Edges that carry this operation's result."""
        return (edge for edge in self.edges if edge.value and edge.source == op.id)

    def op(self, identifier: str) -> ModuloOp:
        """The operation with this id; KeyError when there is none."""
        for op in self.ops:
            if op.id == identifier:
                return op
        raise KeyError(identifier)

    def candidates(self, op: ModuloOp) -> tuple[Group, ...]:
        """Groups that this operation may run on, by its pins, by size and by the variable-latency rule."""
        named = (group for group in self.groups if not op.groups or group.name in op.groups)
        fitting = (group for group in named if group.warps >= op.warps)
        return tuple(group for group in fitting if group.variable_latency == op.variable_latency)


@dataclass(frozen=True, slots=True)
class ModuloSchedule:
    """An answer: the interval, the issue cycle of every operation in iteration 0, and its group (none without groups)."""

    interval: int
    starts: dict[str, int]
    groups: dict[str, str]

    def length(self, problem: ModuloProblem) -> int:
        """Cycles from the first issue of an iteration to the end of its last execution."""
        return max(self.starts[op.id] + op.cycles for op in problem.ops)

    def lifetime(self, problem: ModuloProblem, op: ModuloOp) -> tuple[int, int]:
        """First cycle of the result's life and the first cycle after it, in iteration 0.

        A result lives at least while it is being written, then until its last consumer has let it go.
        """
        start = self.starts[op.id]
        ends = [start + max(op.cycles, 1)]
        for edge in problem.users(op):
            ends.append(self.starts[edge.target] + edge.distance * self.interval + edge.hold)
        return start, max(ends)

    def crosses(self, edge: ModuloEdge) -> bool:
        """Whether the edge leads from one group to another."""
        return bool(self.groups) and self.groups[edge.source] != self.groups[edge.target]

    def waits(self, problem: ModuloProblem, op: ModuloOp) -> bool:
        """Whether the operation begins with a blocking wait."""
        incoming = (edge for edge in problem.edges if edge.target == op.id and edge.value)
        return any(
            edge.wait is ModuloWait.ALWAYS or (edge.wait is ModuloWait.ACROSS and self.crosses(edge))
            for edge in incoming
        )
