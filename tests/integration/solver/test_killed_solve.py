"""A solve that is killed in the middle leaves the best schedule it had; one that is cut says what it knows and no more."""

import multiprocessing
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests import kernels
from warpwright.solver.domain import dump, dumps, load, loads
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import Feasible, Infeasible, ProvenOptimal, Unknown, Verdict
from warpwright.solver.engines import Budget
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import violations
from warpwright.tuning.children import Cancelled, ChildPool, Limits, Reply
from warpwright.tuning.partial_answer import kept
from warpwright.tuning.task_runners.local import files_in


def search(problem: str, out: Connection) -> None:
    """Runs in a child: tells its first schedule and then never comes back."""

    def tell(found: Feasible) -> None:
        out.send_bytes(dumps(found).encode())
        time.sleep(600)

    solve(WarpProblem.from_json(problem), progress=tell)


def test_a_killed_search_leaves_a_verified_schedule() -> None:
    problem = close_problem(kernels.attention(waits=False), load_profile("h200"))
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=search, args=(problem.to_json(), sending))
    child.start()
    try:
        assert receiving.poll(120)
        found = loads(Verdict, receiving.recv_bytes())
    finally:
        child.kill()
        child.join()
    assert child.exitcode is not None
    assert child.exitcode < 0
    assert isinstance(found, Feasible)
    assert isinstance(found.schedule, WarpSchedule)
    assert violations(problem, found.schedule) == ()


def question(engine: str) -> dict[str, Any]:
    """A kernel with an asynchronous product: seconds of search, and a first schedule long before its end."""
    return {
        "graph": dump(kernels.attention(waits=False)),
        "profile": dump(load_profile("h200")),
        "pins": dump(Pins()),
        "engine": engine,
        "seed": 0,
        "work_limit": 10_000_000,
        "wall_seconds": 300.0,
    }


def test_a_killed_child_leaves_its_best_schedule(tmp_path: Path) -> None:
    """The task as the service runs it: the process tree is killed as soon as there is something to leave."""
    cancel, replies = threading.Event(), list[Reply]()
    with ChildPool(1) as pool:
        payload = {**question("cpsat"), "output": str(tmp_path)}
        limits = Limits(wall_seconds=300)
        running = threading.Thread(
            target=lambda: replies.append(pool.run("solve.warp", payload, limits, cancel=cancel)), daemon=True
        )
        running.start()
        until = time.monotonic() + 120
        while not files_in(tmp_path).get("best.json") and time.monotonic() < until:
            time.sleep(0.02)
        cancel.set()
        running.join(30)
    assert [type(reply) for reply in replies] == [Cancelled]
    answer = kept(files_in(tmp_path))
    assert answer is not None
    found = load(Verdict, answer["verdict"])
    assert isinstance(found, Feasible)
    assert isinstance(found.schedule, WarpSchedule)
    assert violations(close_problem(kernels.attention(waits=False), load_profile("h200")), found.schedule) == ()


@pytest.mark.parametrize(
    ("engine", "work"), [("cpsat", 0), ("cpsat", 1), ("cpsat", 20), ("z3", 1), ("z3", 200), ("z3", 800)]
)
def test_a_cut_search_never_says_infeasible(engine: str, work: int) -> None:
    problem = close_problem(kernels.attention(waits=False), load_profile("h200"), Pins(software_pipelining=True))
    found = solve(problem, engine=engine, budget=Budget(work, 120.0))
    assert not isinstance(found, Infeasible)
    if isinstance(found, Unknown):
        assert "budget" in found.reason or "limit" in found.reason
        return
    assert isinstance(found, Feasible | ProvenOptimal)
    assert isinstance(found.schedule, WarpSchedule)
    assert violations(problem, found.schedule) == ()
    # Proven means that the interval meets its bound, whether the engine finished or not.
    assert isinstance(found, ProvenOptimal) or found.certificate.gap_cycles >= 0
    assert (found.certificate.gap_cycles == 0) or not isinstance(found, ProvenOptimal)
