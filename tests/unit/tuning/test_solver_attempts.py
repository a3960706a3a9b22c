"""A solver's child that dies or raises is never the kernel's fault, over the toolchain, HTTP's status and the exit code."""

import signal
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests import kernels
from warpwright.cli.exit_codes import ExitCode, exit_code_of
from warpwright.service.errors import status_of
from warpwright.solver.domain import Pins, SolverFault, Unknown, dump
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import Crashed, Limits, Raised, Reply, Returned
from warpwright.tuning.children.process import OnEvent
from warpwright.tuning.supervised_toolchain import ChildToolchain
from warpwright.tuning.task_runner import TaskAnswer
from warpwright.tuning.toolchain import KernelRead, Patience, Solving, StepFailed, Stop

H200 = load_profile("h200")
DIED = Crashed(None, signal.SIGSEGV)
DONE = Returned({"verdict": dump(Unknown("ended", "z3", 1))})


class ScriptedRunner:
    """Answers one reply after the other and keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked: list[dict[str, Any]] = []

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
        self.asked.append(payload)
        return TaskAnswer(self.replies[min(len(self.asked), len(self.replies)) - 1])

    def offers(self, capability: str) -> bool:
        return True

    def compilers(self, capability: str) -> str:
        return ""

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        return ()

    def available(self) -> bool:
        return True

    def close(self) -> None:
        return None


def solved(runner: ScriptedRunner) -> object:
    kernel = KernelRead(kernels.gemm(), "hash")
    patience = Patience(10.0, float("inf"), Stop())
    return ChildToolchain(runner).solve(kernel, H200, Pins(), Solving("cpsat", 7, 100), patience)


def test_another_seed_then_the_other_engine() -> None:
    runner = ScriptedRunner(DIED, DIED, DONE)
    assert isinstance(solved(runner), Unknown)
    assert [(each["seed"], each["engine"]) for each in runner.asked] == [(7, "cpsat"), (8, "cpsat"), (8, "z3")]


def test_one_death_costs_one_more_attempt() -> None:
    runner = ScriptedRunner(DIED, DONE)
    assert isinstance(solved(runner), Unknown)
    assert len(runner.asked) == 2


def test_who_dies_by_every_means_is_an_outage_of_ours() -> None:
    runner = ScriptedRunner(DIED)
    with pytest.raises(StepFailed) as failed:
        solved(runner)
    assert len(runner.asked) == 3
    assert failed.value.failure.code == "solver-died"
    assert failed.value.outcome.value == "infrastructure"


def test_an_exception_is_our_fault_and_is_not_tried_again() -> None:
    runner = ScriptedRunner(Raised("ZeroDivisionError", "division by zero"))
    with pytest.raises(SolverFault) as fault:
        solved(runner)
    assert len(runner.asked) == 1
    assert status_of(fault.value) == 500
    assert exit_code_of(fault.value) is ExitCode.FAULT
    assert fault.value.code == "solver-fault"
