"""An independent oracle: every start of a tiny loop problem, tried one by one, from the hook's own definition."""

import itertools
import random
from typing import Any

from warpwright.solver.ascend.problem import LoopProblem, StraightProblem, problem_from_call


def random_loop(rng: random.Random) -> LoopProblem:
    """A tiny loop problem that uses every kind of constraint with some chance."""
    n = rng.randint(1, 4)
    buffers = rng.randint(0, 2)
    latencies = [rng.randint(0, 4) for _ in range(n)]
    iis = [rng.randint(0, max(lat, 1)) for lat in latencies]
    deps = []
    for _ in range(rng.randint(0, 2 * n)):
        u, v = rng.randrange(n), rng.randrange(n)
        if buffers and rng.random() < 0.5:
            deps.append([u, v, -1 - rng.randrange(buffers), rng.randint(0, 4)])
        elif u < v and rng.random() < 0.7:
            deps.append([u, v, 0, rng.randint(0, 4)])
        else:
            deps.append([u, v, rng.randint(1, 2), rng.randint(0, 4)])
    pairs = [[i, j] for i in range(n) for j in range(n) if i != j and rng.random() < 0.35]
    owners = [[0, n - 1, rng.randint(0, 3), rng.randint(0, 3)]] if n > 1 and rng.random() < 0.3 else []
    sizes = [rng.choice([0, 1, 2, 3]) for _ in range(buffers)]
    stages = rng.randint(1, 3)
    groups = [[rng.randint(sum(sizes), sum(sizes) * stages), *range(buffers)]] if buffers else []
    manual = rng.random() < 0.2
    offset = rng.random() < 0.5
    call: dict[str, Any] = {
        "kind": "loop",
        "num_stages": stages,
        "latencies": latencies,
        "iis": iis,
        "resource_flags": [rng.choice([1, 2, 3, 4]) for _ in range(n)],
        "data_deps": deps,
        "resource_deps": pairs,
        "owner_exclusion_deps": owners,
        "pipe_order_deps": [[0, n - 1]] if n > 1 and rng.random() < 0.25 else [],
        "buffer_sizes": sizes,
        "memory_groups": groups,
        "stage_order_deps": [[n - 1, 0]] if n > 1 and rng.random() < 0.25 else [],
        "enable_offset": offset,
        "manual_stages": [rng.randint(0, 2) if offset else 0 for _ in range(n)],
        "manual_schedule": manual,
    }
    problem = problem_from_call(call)
    assert isinstance(problem, LoopProblem)
    return problem


def random_straight(rng: random.Random) -> StraightProblem:
    """A tiny straight-line problem."""
    n = rng.randint(1, 4)
    latencies = [rng.randint(0, 4) for _ in range(n)]
    iis = [rng.randint(0, max(lat, 1)) for lat in latencies]
    forward = [[i, j] for i in range(n) for j in range(i + 1, n)]
    call: dict[str, Any] = {
        "kind": "straight",
        "latencies": latencies,
        "iis": iis,
        "resource_flags": [1] * n,
        "data_deps": [[*pair, rng.randint(0, 4)] for pair in forward if rng.random() < 0.4],
        "resource_deps": [pair for pair in forward if rng.random() < 0.4],
        "owner_exclusion_deps": [[*p, rng.randint(0, 3), rng.randint(0, 3)] for p in forward if rng.random() < 0.2],
        "pipe_order_deps": [pair for pair in forward if rng.random() < 0.2],
    }
    problem = problem_from_call(call)
    assert isinstance(problem, StraightProblem)
    return problem


def best_at(problem: LoopProblem, interval: int, most_stages: int = 3) -> tuple[int, int] | None:
    """Fewest bytes, then least length, over every schedule of one interval; None when there is none."""
    n = problem.tasks
    best: tuple[int, int] | None = None
    for phases in itertools.product(range(interval), repeat=n):
        if not _phases_fit(problem, interval, phases):
            continue
        for stages in itertools.product(range(most_stages + 1), repeat=n):
            if problem.manual_schedule and stages != problem.manual_stages:
                continue
            if any(stages[u] > stages[w] for u, w in problem.stage_order_deps):
                continue
            starts = [k * interval + r for k, r in zip(stages, phases, strict=True)]
            found = _cost(problem, interval, starts)
            if found is not None and (best is None or found < best):
                best = found
    return best


def best_straight(problem: StraightProblem, horizon: int) -> int | None:
    """Least makespan over every start up to a horizon."""
    best: int | None = None
    for starts in itertools.product(range(horizon), repeat=problem.tasks):
        fits = (
            all(starts[v] - starts[u] >= lag for u, v, lag in problem.data_deps)
            and all(starts[u] <= starts[v] for u, v in problem.pipe_order_deps)
            and all(
                starts[j] - starts[i] >= problem.iis[i] or starts[i] - starts[j] >= problem.iis[j]
                for i, j in problem.resource_deps
            )
            and all(
                starts[j] - starts[i] >= ahead or starts[i] - starts[j] >= back
                for i, j, ahead, back in problem.owner_exclusion_deps
            )
        )
        if fits:
            makespan = max(s + lat for s, lat in zip(starts, problem.latencies, strict=True))
            best = makespan if best is None else min(best, makespan)
    return best


def _phases_fit(problem: LoopProblem, interval: int, r: tuple[int, ...]) -> bool:
    gaps = [(i, j, problem.iis[i], problem.iis[j]) for i, j in problem.resource_deps if i < j]
    for i, j, ahead, back in (*gaps, *problem.owner_exclusion_deps):
        first = r[j] - r[i] >= ahead and r[i] - r[j] + interval >= back
        second = r[i] - r[j] >= back and r[j] - r[i] + interval >= ahead
        if not (first or second):
            return False
    return all(r[a] <= r[b] for a, b in problem.pipe_order_deps)


def _cost(problem: LoopProblem, interval: int, starts: list[int]) -> tuple[int, int] | None:
    versions = [1] * problem.buffers
    for u, v, distance, lag in problem.data_deps:
        if distance >= 0:
            if starts[v] - starts[u] < lag - interval * distance:
                return None
        else:
            b = -distance - 1
            while starts[v] - starts[u] < lag - interval * versions[b]:
                versions[b] += 1
                if versions[b] > problem.num_stages:
                    return None
    for group in problem.memory_groups:
        if group.buffers and sum(versions[b] * problem.buffer_sizes[b] for b in group.buffers) > group.limit_bytes:
            return None
    if not problem.enable_offset:
        for bit in (1, 2, 4, 8, 16, 32, 64):
            on = [s for s, flags in zip(starts, problem.resource_flags, strict=True) if flags & bit]
            if on and max(on) - min(on) >= interval:
                return None
    length = max(s + lat for s, lat in zip(starts, problem.latencies, strict=True)) - min(starts)
    return sum(v * size for v, size in zip(versions, problem.buffer_sizes, strict=True)), length
