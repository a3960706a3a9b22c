"""Disjunctive networks: a scheduling problem as difference constraints with choices.

Every constraint is an *arc* ``start[target] - start[source] >= lag - II * distance``. Chosen things enter as distances
only: the version count of a buffer, the modular offset q of an excluded pair, the stage of a task. All lags are >= 0, so
for fixed choices the network is feasible exactly when every cycle has ``sum lag <= II * sum distance``; a cycle with
distance <= 0 and a positive lag is infeasible at every interval. Hence a choice that works at II works at II + 1: **the
feasible intervals are closed upwards**, and one infeasible interval excludes every smaller one (docs/decisions/0050).
"""

from dataclasses import dataclass, field

from warpwright.solver.ascend.problem import Problem

__all__ = ["Arc", "Capacity", "Exclusion", "Network", "PhaseOrder", "StageOrder", "VersionArc"]


@dataclass(frozen=True, slots=True)
class Arc:
    """``start[target] - start[source] >= lag - II * distance``."""

    source: int
    target: int
    lag: int
    distance: int
    family: str


@dataclass(frozen=True, slots=True)
class VersionArc:
    """``start[target] - start[source] >= lag - II * versions[buffer]``."""

    source: int
    target: int
    lag: int
    buffer: int
    family: str


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Two tasks that may not overlap modulo II.

    There is a whole q with ``q * II + forward <= start[second] - start[first] <= (q + 1) * II - backward``. At least one
    gap is positive (two zero gaps demand nothing), so the ranges of different q never touch.
    """

    first: int
    second: int
    forward: int
    backward: int
    family: str


@dataclass(frozen=True, slots=True)
class PhaseOrder:
    """``start[first] mod II <= start[second] mod II``."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class StageOrder:
    """``start[first] // II <= start[second] // II``."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """``sum versions * size over members <= limit`` bytes."""

    name: str
    limit: int
    members: tuple[int, ...]


@dataclass(slots=True)
class Network:
    """All constraints of one problem.

    ``fixed_stages`` gives tasks whose stage ``start // II`` is fixed. Stages and phases are absolute: as soon as one is
    used, the search adds an origin node at time 0.
    """

    problem: Problem
    arcs: list[Arc] = field(default_factory=list)
    version_arcs: list[VersionArc] = field(default_factory=list)
    exclusions: list[Exclusion] = field(default_factory=list)
    phase_orders: list[PhaseOrder] = field(default_factory=list)
    stage_orders: list[StageOrder] = field(default_factory=list)
    fixed_stages: dict[int, int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    max_versions: list[int] = field(default_factory=list)
    capacities: list[Capacity] = field(default_factory=list)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Task latencies, for the schedule length."""
        return self.problem.latencies

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return self.problem.tasks

    def phase_tasks(self) -> list[int]:
        """Tasks whose absolute stage matters, in order."""
        found = set(self.fixed_stages)
        for phase in self.phase_orders:
            found |= {phase.first, phase.second}
        for stage in self.stage_orders:
            found |= {stage.first, stage.second}
        return sorted(found)
