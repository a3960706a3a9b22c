"""What a search had when its child was ended is its answer; a search that had nothing is a failed step."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests import kernels
from warpwright.solver.domain import Feasible, GraphError, Outcome, Pins, dump
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import Limits, Refused, Reply, TimedOut
from warpwright.tuning.children.process import OnEvent
from warpwright.tuning.partial_answer import keep, kept
from warpwright.tuning.solver_tasks import propose_warp, solve_warp
from warpwright.tuning.supervised_toolchain import ChildToolchain
from warpwright.tuning.task_runner import TaskAnswer
from warpwright.tuning.toolchain import KernelRead, Patience, Solving, StepFailed, Stop

H200 = load_profile("h200")


class StubRunner:
    """Ends every task with this reply and these files, and remembers whether it was asked for files."""

    def __init__(self, reply: Reply, files: dict[str, bytes]) -> None:
        self.answer, self.asked = TaskAnswer(reply, files), list[bool]()

    def run(
        self,
        task: str,
        payload: dict[str, Any],
        limits: Limits,
        *,
        cancel: threading.Event,
        trace: str = "",
        output: bool = False,
        on_event: OnEvent | None = None,
        inputs: Mapping[str, bytes] | None = None,
    ) -> TaskAnswer:
        self.asked.append(output)
        return self.answer

    def offers(self, capability: str) -> bool:
        return True

    def compilers(self, capability: str) -> str:
        return ""

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        return ()

    def available(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing to end."""


def patience() -> Patience:
    return Patience(seconds=10.0, deadline=float("inf"), stop=Stop())


def left_by(task: Any, tmp_path: Any, **payload: Any) -> dict[str, bytes]:
    """The files that a task leaves while it runs."""
    common = {"profile": dump(H200), "pins": dump(Pins()), "engine": "cpsat", "seed": 0, "work_limit": 20_000}
    task({**common, "wall_seconds": 60.0, **payload, "output": str(tmp_path)})
    return {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_solve_that_timed_out_answers_with_its_best(tmp_path: Any) -> None:
    files = left_by(solve_warp, tmp_path, graph=dump(kernels.gemm()))
    runner = StubRunner(TimedOut("wall", 10.0), files)
    kernel = KernelRead(kernels.gemm(), "x")
    verdict = ChildToolchain(runner).solve(kernel, H200, Pins(), Solving(), patience())
    assert runner.asked == [True]
    assert isinstance(verdict, Feasible)
    assert ChildToolchain(runner).verify(kernel, H200, verdict.schedule) == ()


def test_a_solve_that_timed_out_with_nothing_is_a_failed_step() -> None:
    runner = StubRunner(TimedOut("wall", 10.0), {})
    with pytest.raises(StepFailed) as failed:
        ChildToolchain(runner).solve(KernelRead(kernels.gemm(), "x"), H200, Pins(), Solving(), patience())
    assert failed.value.outcome is Outcome.TIMED_OUT


def test_a_refusal_is_a_refusal_whatever_was_left(tmp_path: Any) -> None:
    files = left_by(solve_warp, tmp_path, graph=dump(kernels.gemm()))
    runner = StubRunner(Refused(error="GraphError", code="graph-broken", message="no such thing", place=""), files)
    with pytest.raises(GraphError):
        ChildToolchain(runner).solve(KernelRead(kernels.gemm(), "x"), H200, Pins(), Solving(), patience())


def test_the_last_answer_left_is_the_best_of_all_candidates(tmp_path: Any) -> None:
    kernel = {"variant": 0, "params": {}, "graph": dump(kernels.gemm()), "ir_hash": "x"}
    files = left_by(propose_warp, tmp_path, kernels=[kernel], count=3)
    answer = kept(files)
    assert answer is not None
    times = [candidate["forecast_ns"] for candidate in answer["proposals"]["candidates"]]
    assert len(times) == 3
    assert times == sorted(times)


def test_a_half_written_answer_is_not_an_answer(tmp_path: Any) -> None:
    keep({"output": str(tmp_path)}, {"verdict": 1})
    (tmp_path / "best.part").write_text('{"verdict": ')
    assert kept({path.name: path.read_bytes() for path in tmp_path.iterdir()}) == {"verdict": 1}
    keep({}, {"verdict": 2})
    assert kept({}) is None
