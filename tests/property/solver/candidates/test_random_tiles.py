"""Whatever the tile: every candidate verifies, none is listed twice, none deadlocks, and the order is by forecast."""

import random

import pytest

from benchmarks.kernels.graphs import attention_graph, gemm_graph
from tests.unit.solver.candidates.warp_schedules import warp_schedule
from warpwright.solver.candidates import propose
from warpwright.solver.domain import KernelGraph, dumps
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.verify import verify


def random_graph(seed: int) -> KernelGraph:
    """A GEMM or attention of a random tile that some schedule can hold."""
    rng = random.Random(seed)
    if rng.random() < 0.5:
        warpgroups = rng.choice((1, 2, 3))
        columns = rng.choice((64, 96, 128, 192, 256))
        depth = rng.choice((1, 2, 3))
        return gemm_graph(2048, 3072, 4096, 64 * warpgroups, columns, rng.choice((32, 64, 128)), depth, warpgroups)
    warpgroups = rng.choice((1, 2, 3))
    head = rng.choice((64, 128))
    return attention_graph(2, 8, 2048, head, 64 * warpgroups, rng.choice((64, 96, 128)), 2, warpgroups)


@pytest.mark.parametrize("seed", range(6))
def test_candidates_of_random_tiles(seed: int) -> None:
    profile = load_profile(("h200", "h100")[seed % 2])
    graph = random_graph(seed)
    proposals = propose(graph, profile, count=3)
    assert proposals.candidates, (proposals.rejected, proposals.undecided)
    assert len({dumps(candidate.schedule) for candidate in proposals.candidates}) == len(proposals.candidates)
    for candidate in proposals.candidates:
        schedule = warp_schedule(candidate)
        assert verify(graph, profile, schedule) == ()
        assert not simulate(graph, profile, schedule).deadlocked
    times = [candidate.forecast_ns or 0.0 for candidate in proposals.candidates]
    assert times == sorted(times)
