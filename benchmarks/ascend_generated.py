"""Larger scheduler calls than small kernels give: random dataflow over loads, vector and cube steps, and stores."""

import random
from typing import Any

__all__ = ["generate", "generated_calls"]

_PIPES = {"load": 2, "vector": 16, "store": 4, "cube": 8}


def generated_calls(sizes: tuple[int, ...], seeds: int) -> list[tuple[str, dict[str, Any]]]:
    """Named calls: every size with and without offset, with tight and ample memory, ``seeds`` each."""
    calls = []
    for tasks in sizes:
        for offset in (False, True):
            for tight in (True, False):
                for seed in range(seeds):
                    form = f"{'offset' if offset else 'window'}_{'tight' if tight else 'ample'}"
                    calls.append((f"generated_{tasks}_{form}_{seed}", generate(tasks, offset, tight, seed)))
    return calls


def generate(tasks: int, offset: bool, tight: bool, seed: int) -> dict[str, Any]:
    """One loop call. Times follow the shape of TileLang's cost model: a transfer completes some time after it issued."""
    rng = random.Random(f"{tasks} {offset} {tight} {seed}")
    latencies: list[int] = []
    iis: list[int] = []
    kinds: list[str] = []
    deps: list[list[int]] = []
    sizes: list[int] = []
    produced: list[tuple[int, int]] = []
    while len(kinds) < tasks:
        kind = rng.choice(["load", "load", "vector", "vector", "store", "cube"]) if produced else "load"
        interval, latency = _cost(rng, kind)
        task = len(kinds)
        kinds.append(kind)
        iis.append(interval)
        latencies.append(latency)
        if kind != "load":
            recent = produced[-5:]
            for producer, buffer in rng.sample(recent, min(len(recent), 1 if kind == "store" else rng.randint(1, 2))):
                deps += [[producer, task, 0, latencies[producer]], [task, producer, -buffer - 1, latency]]
        if kind != "store":
            sizes.append(rng.choice([4096, 8192, 16384, 32768]))
            produced.append((task, len(sizes) - 1))
            deps.append([task, task, -len(sizes), latency])
    limit = int(sum(sizes) * (rng.uniform(1.0, 1.25) if tight else 4))
    ports = {"load", "store"}
    pairs = [
        [a, b]
        for a in range(tasks)
        for b in range(a + 1, tasks)
        if kinds[a] == kinds[b] or {kinds[a], kinds[b]} <= ports
    ]
    return {
        "kind": "loop",
        "num_stages": rng.choice([2, 3, 4]),
        "latencies": latencies,
        "iis": iis,
        "resource_flags": [_PIPES[kind] for kind in kinds],
        "data_deps": deps,
        "resource_deps": pairs,
        "owner_exclusion_deps": [],
        "pipe_order_deps": [],
        "buffer_sizes": sizes,
        "memory_groups": [[limit, *range(len(sizes))]],
        "stage_order_deps": [],
        "enable_offset": offset,
        "manual_stages": [0] * tasks,
        "manual_schedule": False,
    }


def _cost(rng: random.Random, kind: str) -> tuple[int, int]:
    if kind == "load":
        interval = rng.randint(100, 700)
        return interval, interval + 90
    if kind == "vector":
        interval = rng.randint(60, 900)
        return interval, interval
    if kind == "cube":
        interval = rng.randint(200, 1800)
        return interval, interval + 8
    interval = rng.randint(80, 400)
    return interval, interval + 180
