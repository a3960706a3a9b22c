"""An Ascend solve that is killed leaves the best that it had."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.solver.ascend.kernels import gemm_graph
from tests.unit.solver.ascend.test_calls import gemm_call
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.domain import Feasible, Pins, ProvenOptimal, Verdict, dump, load
from warpwright.solver.profiles import load_profile
from warpwright.tuning import solver_tasks
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
