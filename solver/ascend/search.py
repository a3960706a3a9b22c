"""Exact search at one interval: difference constraints closed under longest paths, branching over the choices left.

A state is the matrix ``D`` of longest paths (``start_v - start_u >= D[u, v]`` in every schedule of the state) with bounds
of the version counts. Propagation alternates four deductions until nothing changes: version counts from the paths,
count limits from memory, modular offsets q of excluded pairs from the paths, stages from the paths. Then the pair with
the least freedom is branched over its offsets, then the counts. Longest-path updates are O(n^2) numpy operations, so a
node costs a fraction of a millisecond at 25 tasks. This is the branch and bound of disjunctive scheduling (Carlier and
Pinson, 1989) on cyclic orders, with the modular offset as part of the choice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from warpwright.solver.ascend.encoding import Network

__all__ = ["DiscreteChoices", "Meter", "Search", "SearchSolution", "State", "WorkSpent"]

Matrix: TypeAlias = npt.NDArray[np.int64]


class WorkSpent(Exception):  # not an error: the search stops without a verdict
    """The work limit ended the search without a verdict."""


@dataclass(slots=True)
class Meter:
    """Counts search nodes against a limit, deterministically."""

    limit: int
    spent: int = 0

    def tick(self) -> None:
        """Counts one node; raises :class:`WorkSpent` past the limit."""
        self.spent += 1
        if self.spent > self.limit:
            raise WorkSpent


@dataclass(frozen=True, slots=True)
class DiscreteChoices:
    """All discrete choices of a solution: offsets of the exclusions, version counts, stages of the phase tasks."""

    offsets: tuple[int, ...]
    versions: tuple[int, ...]
    stages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SearchSolution:
    """A solution: starts (absolute when the network has an origin), counts and the choices behind it."""

    starts: tuple[int, ...]
    versions: tuple[int, ...]
    choice: DiscreteChoices


@dataclass(slots=True)
class State:
    """Longest paths between all nodes, bounds of version counts and of stages: a set of schedules still possible."""

    interval: int
    groups: list[tuple[int, tuple[int, ...]]]
    paths: Matrix
    low: list[int]
    high: list[int]
    stage_low: list[int]
    stage_high: list[int]

    def copy(self) -> "State":
        """A state to narrow; interval and groups are shared, they never change."""
        return State(
            self.interval,
            self.groups,
            self.paths.copy(),
            list(self.low),
            list(self.high),
            list(self.stage_low),
            list(self.stage_high),
        )


class Search:
    """Feasibility of a network at given intervals. Compiled once, used at many intervals."""

    def __init__(self, network: Network, least_interval: int) -> None:
        """``least_interval`` is a proven lower bound: stages are bounded by what is needed there."""
        self.network = network
        self.tasks = network.tasks
        phase_tasks = network.phase_tasks()
        self.origin = self.tasks if phase_tasks else None
        self.nodes = self.tasks + (1 if phase_tasks else 0)
        self.phase_tasks = phase_tasks
        self._stage_index = {task: index for index, task in enumerate(phase_tasks)}
        self.reach = _stage_reach(network, least_interval) + (1 if phase_tasks else 0)
        self._compile_arcs()
        self._compile_versions()
        pairs = np.array([(x.first, x.second, x.forward, x.backward) for x in network.exclusions], dtype=np.int64)
        self._first, self._second, self._forward, self._backward = pairs.reshape(-1, 4).T.copy()

    def _compile_arcs(self) -> None:
        arcs = [(a.source, a.target, a.lag, a.distance) for a in self.network.arcs]
        if self.origin is not None:
            arcs += [(self.origin, task, 0, 0) for task in range(self.tasks)]
        table = np.array(arcs, dtype=np.int64).reshape(-1, 4)
        self._arc_source, self._arc_target, self._arc_lag, self._arc_distance = table.T.copy()

    def _compile_versions(self) -> None:
        rows = sorted((a.buffer, a.source, a.target, a.lag) for a in self.network.version_arcs)
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        _, self._version_source, self._version_target, self._version_lag = table.T.copy()
        self._versioned = sorted({row[0] for row in rows})
        column = [row[0] for row in rows]
        self._version_first = np.array([column.index(b) for b in self._versioned], dtype=np.int64)
        self._arcs_of: dict[int, list[tuple[int, int, int]]] = {b: [] for b in range(len(self.network.sizes))}
        for buffer, source, target, lag in rows:
            self._arcs_of[buffer].append((source, target, lag))

    def root(
        self,
        interval: int,
        *,
        high: list[int] | None = None,
        bytes_limit: int | None = None,
        length_limit: int | None = None,
    ) -> State | None:
        """The propagated root state, or None when propagation alone shows that there is no schedule."""
        size = self.nodes
        groups = [(c.limit, c.members) for c in self.network.capacities]
        if bytes_limit is not None:
            groups.append((bytes_limit, tuple(range(len(self.network.sizes)))))
        paths = np.full((size, size), -(self.reach + 1) * interval, dtype=np.int64)
        np.fill_diagonal(paths, 0)
        lags = self._arc_lag - interval * self._arc_distance
        np.maximum.at(paths, (self._arc_source, self._arc_target), lags)
        tops = list(self.network.max_versions) if high is None else list(high)
        for buffer, arcs in self._arcs_of.items():
            for source, target, lag in arcs:
                paths[source, target] = max(paths[source, target], lag - interval * tops[buffer])
        if length_limit is not None:
            lengths = np.array(self.network.lengths, dtype=np.int64)
            tasks = self.tasks
            ends = np.broadcast_to((lengths - length_limit)[:, None], (tasks, tasks))
            np.maximum(paths[:tasks, :tasks], ends, out=paths[:tasks, :tasks])
        if not _close(paths):
            return None
        stages = [self.network.fixed_stages.get(task) for task in self.phase_tasks]
        state = State(
            interval,
            groups,
            paths,
            [1] * len(tops),
            tops,
            [0 if stage is None else stage for stage in stages],
            [self.reach if stage is None else stage for stage in stages],
        )
        return state if self._propagate(state) else None

    def solve(self, state: State, meter: Meter) -> SearchSolution | None:
        """A schedule inside the state, or None if there is none; WorkSpent if the work limit ends first."""
        stack = [iter((state,))]
        while stack:
            child = next(stack[-1], None)
            meter.tick()
            if child is None:
                stack.pop()
                continue
            children = self._branch(child)
            if children is None:
                return self._plan(child)
            stack.append(children)
        return None

    def _insert(self, paths: Matrix, source: int, target: int, lag: int) -> bool:
        if lag <= paths[source, target]:
            return True
        if lag + paths[target, source] > 0:
            return False
        np.maximum(paths, (paths[:, source] + lag)[:, None] + paths[target], out=paths)
        return True

    def _propagate(self, state: State) -> bool:
        while True:
            if not (self._count_versions(state) and self._order_stages(state)):
                return False
            changed = self._limit_versions(state)
            if changed is None:
                return False
            if changed:
                continue
            changed = self._offset_pairs(state)
            if changed is None:
                return False
            if not changed:
                return True

    def _count_versions(self, state: State) -> bool:
        if not self._versioned:
            return True
        longest = self._version_lag + state.paths[self._version_target, self._version_source]
        needs = -((-np.maximum.reduceat(longest, self._version_first)) // state.interval)
        for buffer, need in zip(self._versioned, needs.tolist(), strict=True):
            if need > state.low[buffer]:
                state.low[buffer] = need
                if need > state.high[buffer]:
                    return False
        return True

    def _limit_versions(self, state: State) -> bool | None:
        """Counts that memory forbids; None when even the fewest versions do not fit, True when a path changed."""
        changed = False
        sizes = self.network.sizes
        for limit, members in state.groups:
            spare = limit - sum(sizes[b] * state.low[b] for b in members)
            if spare < 0:
                return None
            for buffer in members:
                if state.high[buffer] > state.low[buffer] and sizes[buffer]:
                    top = state.low[buffer] + spare // sizes[buffer]
                    if top < state.high[buffer]:
                        state.high[buffer] = top
                        for source, target, lag in self._arcs_of[buffer]:
                            bound = lag - state.interval * top
                            if bound > state.paths[source, target]:
                                changed = True
                                if not self._insert(state.paths, source, target, bound):
                                    return None
        return changed

    def _offset_pairs(self, state: State) -> bool | None:
        """Arcs that hold for every offset a pair has left; None when a pair has none, True when a path changed."""
        if not len(self._first):
            return False
        low, high, least, most = self._offsets(state)
        if (high < low).any():
            return None
        ahead = self._forward + low * state.interval
        behind = self._backward - (high + 1) * state.interval
        tighter = np.nonzero((ahead > least) | (behind > most))[0].tolist()
        for x in tighter:
            i, j = int(self._first[x]), int(self._second[x])
            if not (self._insert(state.paths, i, j, int(ahead[x])) and self._insert(state.paths, j, i, int(behind[x]))):
                return None
        return bool(tighter)

    def _offsets(self, state: State) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Lowest and highest offset of each pair, and the paths ``first -> second`` and back."""
        least = state.paths[self._first, self._second]
        most = state.paths[self._second, self._first]
        high = (-most - self._forward) // state.interval
        low = -((-(least + self._backward)) // state.interval) - 1
        return low, high, least, most

    def offset_bounds(self, state: State) -> tuple[list[int], list[int]]:
        """Lowest and highest modular offset that each exclusion still has in a state."""
        low, high, _, _ = self._offsets(state)
        return low.tolist(), high.tolist()

    def _order_stages(self, state: State) -> bool:
        """Stage bounds from paths and back, stage orders, phase orders."""
        if self.origin is None:
            return True
        origin, interval, paths = self.origin, state.interval, state.paths
        while True:
            before = (list(state.stage_low), list(state.stage_high))
            for index, task in enumerate(self.phase_tasks):
                low = max(state.stage_low[index], int(paths[origin, task]) // interval)
                high = min(state.stage_high[index], int(-paths[task, origin]) // interval)
                state.stage_low[index], state.stage_high[index] = low, high
                if low > high:
                    return False
                if not (
                    self._insert(paths, origin, task, low * interval)
                    and self._insert(paths, task, origin, 1 - (high + 1) * interval)
                ):
                    return False
            for order in self.network.stage_orders:
                u, w = self._stage_index[order.first], self._stage_index[order.second]
                state.stage_low[w] = max(state.stage_low[w], state.stage_low[u])
                state.stage_high[u] = min(state.stage_high[u], state.stage_high[w])
            for phase in self.network.phase_orders:
                u, w = self._stage_index[phase.first], self._stage_index[phase.second]
                least = state.stage_low[w] - state.stage_high[u]
                if not self._insert(paths, phase.first, phase.second, least * interval):
                    return False
            if before == (state.stage_low, state.stage_high):
                return True

    def _branch(self, state: State) -> Iterator[State] | None:
        """Children of a state, best first; None when every choice is made."""
        for index, task in enumerate(self.phase_tasks):
            if state.stage_low[index] < state.stage_high[index]:
                return self._branch_stage(state, index, task)
        if len(self._first):
            low, high, least, most = self._offsets(state)
            if (high > low).any():
                freedom = np.where(high > low, -most - least - self._forward - self._backward, np.iinfo(np.int64).max)
                return self._branch_pair(state, int(np.argmin(freedom)), low, high, least, most)
        for buffer in self._versioned:
            if state.low[buffer] < state.high[buffer]:
                return self._branch_versions(state, buffer)
        return None

    def _branch_stage(self, state: State, index: int, task: int) -> Iterator[State]:
        assert self.origin is not None
        for stage in range(state.stage_low[index], state.stage_high[index] + 1):
            child = state.copy()
            child.stage_low[index] = child.stage_high[index] = stage
            if self._propagate(child):
                yield child

    def _branch_pair(
        self, state: State, x: int, low: Matrix, high: Matrix, least: Matrix, most: Matrix
    ) -> Iterator[State]:
        i, j = int(self._first[x]), int(self._second[x])
        forward, backward, interval = int(self._forward[x]), int(self._backward[x]), state.interval
        options = []
        for q in range(int(low[x]), int(high[x]) + 1):
            begin = max(int(least[x]), forward + q * interval)
            end = min(int(-most[x]), (q + 1) * interval - backward)
            if begin <= end:
                options.append((begin - end, abs(q), q))
        for _, _, q in sorted(options):
            child = state.copy()
            if (
                self._insert(child.paths, i, j, forward + q * interval)
                and self._insert(child.paths, j, i, backward - (q + 1) * interval)
                and self._propagate(child)
            ):
                yield child

    def _branch_versions(self, state: State, buffer: int) -> Iterator[State]:
        fewest = state.copy()
        fewest.high[buffer] = fewest.low[buffer]
        if all(
            self._insert(fewest.paths, source, target, lag - state.interval * fewest.low[buffer])
            for source, target, lag in self._arcs_of[buffer]
        ) and self._propagate(fewest):
            yield fewest
        more = state.copy()
        more.low[buffer] += 1
        if self._propagate(more):
            yield more

    def _plan(self, state: State) -> SearchSolution:
        """Earliest starts of a fully decided state."""
        starts = np.maximum(state.paths.max(axis=0), 0)
        starts = starts - (starts[self.origin] if self.origin is not None else starts.min())
        offsets = self._offsets(state)[0] if len(self._first) else np.zeros(0, dtype=np.int64)
        choice = DiscreteChoices(tuple(offsets.tolist()), tuple(state.low), tuple(state.stage_low))
        return SearchSolution(tuple(starts[: self.tasks].tolist()), tuple(state.low), choice)

    def feasible_choice(self, choice: DiscreteChoices, interval: int) -> bool:
        """Whether the same choices also work at another interval (no search: one longest-path closure)."""
        paths = np.full((self.nodes, self.nodes), -(self.reach + 1) * interval, dtype=np.int64)
        np.fill_diagonal(paths, 0)
        np.maximum.at(paths, (self._arc_source, self._arc_target), self._arc_lag - interval * self._arc_distance)
        offsets = np.array(choice.offsets, dtype=np.int64)
        np.maximum.at(paths, (self._first, self._second), self._forward + offsets * interval)
        np.maximum.at(paths, (self._second, self._first), self._backward - (offsets + 1) * interval)
        for buffer, arcs in self._arcs_of.items():
            for source, target, lag in arcs:
                paths[source, target] = max(paths[source, target], lag - interval * choice.versions[buffer])
        if self.origin is not None:
            stage = dict(zip(self.phase_tasks, choice.stages, strict=True))
            for task, k in stage.items():
                paths[self.origin, task] = max(paths[self.origin, task], k * interval)
                paths[task, self.origin] = max(paths[task, self.origin], 1 - (k + 1) * interval)
            for order in self.network.phase_orders:
                bound = (stage[order.second] - stage[order.first]) * interval
                paths[order.first, order.second] = max(paths[order.first, order.second], bound)
        return _close(paths)


def _close(paths: Matrix) -> bool:
    """All-pairs longest paths in place (Floyd and Warshall); False when there is a positive cycle."""
    for node in range(len(paths)):
        np.maximum(paths, paths[:, node, None] + paths[None, node], out=paths)
    return bool(paths.diagonal().max() <= 0)


def _stage_reach(network: Network, interval: int) -> int:
    """A stage difference that no schedule needs to exceed at this interval or above.

    With phases given, stages obey ``k_v - k_u >= ceil((lag - II * distance + phase_u - phase_v) / II)``; the earliest
    such stages grow by at most the largest right side out of each task along a path that visits every task once. Earliest
    stages also give the least length, measured from the first start: without an origin that start may be rotated to
    phase 0, with one a task may need one more stage to stay after it.
    """
    rises = [0] * network.tasks
    for arc in network.arcs:
        rises[arc.source] = max(rises[arc.source], _rise(arc.lag, arc.distance, interval))
    for version in network.version_arcs:
        rises[version.source] = max(rises[version.source], _rise(version.lag, 1, interval))
    return max(sum(rises), max(network.fixed_stages.values(), default=0))


def _rise(lag: int, distance: int, interval: int) -> int:
    return -((-(lag + interval - 1)) // interval) - distance
