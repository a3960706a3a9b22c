"""An Ascend solve that is killed leaves the best that it had."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.solver.ascend.kernels import gemm_graph
from tests.unit.solver.ascend.test_calls import gemm_call
from warpwright.kernel_file import KernelFile, KernelVariant
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.domain import Feasible, Pins, ProvenOptimal, Verdict, dump, load
from warpwright.solver.profiles import load_profile
from warpwright.solving import solve_kernel
from warpwright.tuning import solver_tasks
from warpwright.tuning.children import Crashed, OutOfMemory, Reply, TimedOut
from warpwright.tuning.partial_answer import kept


class Killed(BaseException):
    """Nothing of the task runs after it."""


def test_a_solve_that_is_killed_leaves_its_quick_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed_in_the_whole_search(*arguments: Any, limits: Any = None, **more: Any) -> Verdict:
        if limits is None:
            raise Killed
        return solve_graph(*arguments, limits=limits, **more)

    monkeypatch.setattr("warpwright.tuning.solver_tasks.solve_graph", killed_in_the_whole_search)
    payload = {
        "graph": dump(gemm_graph(gemm_call())), "profile": dump(load_profile("ascend950")), "pins": dump(Pins()),
        "engine": "cpsat", "output": str(tmp_path),
    }  # fmt: skip
    with pytest.raises(Killed):
        solver_tasks.solve_warp(json.loads(json.dumps(payload)))
    best = kept({path.name: path.read_bytes() for path in tmp_path.iterdir()})
    assert best is not None
    verdict = load(Verdict, best["verdict"])
    assert isinstance(verdict, ProvenOptimal | Feasible)
    assert verdict.certificate.verified


@pytest.mark.parametrize("end", [TimedOut("wall", 1.0), OutOfMemory(2, 1), Crashed(None, 9)])
def test_the_command_answers_with_what_a_killed_solve_left(monkeypatch: pytest.MonkeyPatch, end: Reply) -> None:
    def killed(task: str, payload: dict[str, Any], limits: object) -> Reply:
        assert task == "solve.buffer"
        best = solver_tasks.solve_warp({**payload, "graph": graph, "output": payload["output"]})
        Path(payload["output"], "best.json").write_text(json.dumps(best))
        return end

    graph = dump(gemm_graph(gemm_call()))
    monkeypatch.setattr("warpwright.solving.run_task", killed)
    kernel = KernelFile("k", (KernelVariant("{}", {}),))
    verdict = solve_kernel(kernel, load_profile("ascend950"))
    assert isinstance(verdict, ProvenOptimal)
