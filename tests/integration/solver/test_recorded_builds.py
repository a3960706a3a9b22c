"""Every scheduled build of the recorded H200 sessions took the shared memory that the device model says, to the byte."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warpwright.solver.device.shared_memory import BARRIERS, holders
from warpwright.solver.domain import KernelGraph, WarpSchedule, load
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile

ROOT = Path(__file__).parents[3]
SESSIONS = sorted((ROOT / "docs" / "results" / "h200").glob("*.json"))
EXAMPLES = ("gemm", "attention")

Sampled = list[tuple[str, KernelGraph, dict[str, Any]]]


def builds() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Where it is recorded, which example it is of, and the candidate, for each build with a schedule."""
    for path in SESSIONS:
        problems = json.loads(path.read_text("utf-8")).get("problems", {})
        for problem, session in problems.items() if isinstance(problems, dict) else ():
            example = next((name for name in EXAMPLES if problem.startswith(name)), None)
            for key, candidate in session["candidates"].items() if example else ():
                if candidate.get("schedule") and candidate.get("launch"):
                    yield f"{path.stem}/{problem}/{key}", example or "", candidate


def graphs_of(keys: list[str]) -> dict[str, KernelGraph]:
    """Graphs by example and parameters, read by a process of its own."""
    cases = [{"kernel": example, "params": json.loads(params)} for example, params in map(json.loads, keys)]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("example_graphs.py"))],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = [load(KernelGraph, graph) for graph in json.loads(done.stdout.splitlines()[-1])]
    return dict(zip(keys, found, strict=True))


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(8, id="some")])
def sampled(request: pytest.FixtureRequest) -> Sampled:
    """The builds of every kernel, or of every eighth, with the graphs that they need."""
    every = list(dict.fromkeys(key_of(example, candidate) for _, example, candidate in builds()))
    keys = every[:: request.param]
    graphs = graphs_of(keys)
    return [(name, graphs[key], c) for name, example, c in builds() if (key := key_of(example, c)) in graphs]


def key_of(example: str, candidate: dict[str, Any]) -> str:
    return json.dumps([example, json.dumps(candidate["params"], sort_keys=True)])


def test_recorded_builds_took_what_the_model_says(sampled: Sampled) -> None:
    checked = 0
    for name, graph, candidate in sampled:
        schedule = load(WarpSchedule, candidate["schedule"])
        held, launch = dict(holders(graph, schedule)), candidate["launch"]
        static = held.pop(BARRIERS)
        assert (sum(held.values()), static) == (launch["dynamic_shared_bytes"], launch["static_shared_bytes"]), name
        assert 32 * schedule.num_warps == launch["block_threads"], name
        checked += 1
    assert checked > 10


def test_recorded_builds_were_launched_with_the_registers_that_the_forecast_plays(sampled: Sampled) -> None:
    """ptxas reports the launch count alone; schedules of one kind stand for the rest, a forecast takes a while."""
    profile, seen = load_profile("h200"), set()
    for name, graph, candidate in sampled:
        schedule = load(WarpSchedule, candidate["schedule"])
        kind = (graph.name, schedule.num_warps, schedule.roles)
        if kind in seen or not candidate.get("ptxas"):
            continue
        seen.add(kind)
        played = simulate(graph, profile, schedule)
        assert played.footprint is not None
        taken, reported = played.footprint.registers_per_thread, candidate["ptxas"]["registers"]
        moved = any(role.registers_per_thread for role in schedule.roles)
        # Without reallocation ptxas may stop short of the bound that the launch gives it.
        assert taken == reported if moved else taken >= reported, name
    assert len(seen) > 1
