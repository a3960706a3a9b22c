"""Every reason of an explanation stands in the way, and every way out leads to a verified schedule: both are solved again."""

import re
from dataclasses import replace

import pytest

from tests import kernels
from warpwright.solver.domain import Conflict, HardwareProfile, KernelGraph, Relaxation
from warpwright.solver.engines import Budget
from warpwright.solver.explain import explain_problem, parse
from warpwright.solver.explain.pin_labels import without_pin
from warpwright.solver.explain.question import Question
from warpwright.solver.explain.reasons import REQUESTED
from warpwright.solver.explain.relaxations import feasible
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import WarpProblem, close_problem

H200, B200 = load_profile("h200"), load_profile("b200")
BUDGET = Budget()
QUICK = [
    (kernels.gemm(), H200, "consumer_warpgroups=1", "registers per thread less"),
    (kernels.gemm(), H200, "roles.consumer.registers=256", "need 68,608 registers"),
    (kernels.gemm(), H200, "ops.mma.stage=1", "stage offsets count from"),
    (kernels.two_gemms(), H200, "pipelines.merged=true,buffers.As.depth=4", "30,720 bytes less"),
]
LONG = [
    (kernels.blackwell_gemm(), B200, "pipelines.as_bs.depth=9", "96,256 bytes less"),
    (kernels.gemm(), H200, "ops.mma.role=load", "mma needs whole warpgroups"),
    (kernels.gemm(), H200, "pipelines.as_bs.depth=4", "30,720 bytes less"),
    (kernels.gemm(), H200, "consumer_warpgroups=1,roles.consumer.registers=256", "26 registers per thread less"),
    (kernels.gemm(), H200, "consumer_warpgroups=3", "cannot be divided"),
    (kernels.gemm(), H200, "roles.consumer.registers=232,roles.load.registers=64", "need 67,584 registers"),
    (kernels.gemm(), H200, "roles.load.registers=240,roles.consumer.registers=240", "need 92,160 registers"),
    (kernels.gemm(), H200, "loops.k.interval=900", "at most 900"),
    (kernels.gemm(256, 128, 128), H200, "loops.k.interval=2048", "30,720 bytes less"),
    (kernels.attention(), H200, "consumer_warpgroups=3", "cannot be divided"),
    (kernels.attention(), H200, "consumer_warpgroups=1", "needs 284 registers"),
    (kernels.attention(), H200, "buffers.K.depth=4,buffers.V.depth=4", "K is in no pipeline"),
    (kernels.blackwell_gemm(), B200, "buffers.C.depth=8", "C is in no pipeline"),
    (kernels.blackwell_gemm(), B200, "ops.mma.role=consumer", "one warp"),
    (kernels.blackwell_gemm(), B200, "ops.mma.stage=1", "stage offsets count from"),
    (kernels.persistent_gemm(), H200, "store_role=true,pipelines.as_bs.depth=7", "30,720 bytes less"),
    (kernels.rewrites_after_use(), H200, "ops.next.role=load", "no barrier waits for its completion"),
]


@pytest.mark.parametrize(("graph", "profile", "why", "said"), QUICK, ids=[entry[2] for entry in QUICK])
def test_reasons_and_ways_out_hold(graph: KernelGraph, profile: HardwareProfile, why: str, said: str) -> None:
    hold(close_problem(graph, profile), why, said)


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "profile", "why", "said"), LONG, ids=[entry[2] for entry in LONG])
def test_more_reasons_and_ways_out_hold(graph: KernelGraph, profile: HardwareProfile, why: str, said: str) -> None:
    hold(close_problem(graph, profile), why, said)


def hold(problem: WarpProblem, why: str, said: str) -> None:
    found = explain_problem(problem, why)
    assert found.possible is False
    assert said in str(found) + " ".join(conflict.relaxation for conflict in found.conflicts)
    question = parse(why, problem)
    asked = problem.with_pins(question.pins)
    assert feasible(asked, question.intervals, "cpsat", BUDGET) is False
    alone = [conflict for conflict in found.conflicts if conflict.relaxation]
    for conflict in alone:
        changed, intervals = relaxed(asked, question, conflict)
        assert feasible(changed, intervals, "cpsat", BUDGET), (why, conflict)
    for way in found.relaxations:
        if way.why:
            again = parse(instead(why, way), problem)
            changed = problem.with_pins(again.pins)
            assert feasible(changed, again.intervals, "cpsat", BUDGET), (why, way)


def relaxed(
    asked: WarpProblem, question: Question, conflict: Conflict
) -> tuple[WarpProblem, tuple[tuple[str, int], ...]]:
    """The problem with what a reason says taken away, and no more of it where it is a number of the device."""
    if conflict.family == "pins":
        dropped = without_pin(asked.pins, conflict.place.removeprefix("pin:"))
        assert dropped is not None
        return replace(asked, pins=dropped), question.intervals
    if conflict.family == REQUESTED:
        return asked, ()
    amount = int(re.sub(r"\D", "", conflict.relaxation.split()[0]))
    assert amount > 0
    device = asked.device
    if conflict.family == "shared_memory":
        limit = device.shared_bytes_per_block + amount
        less = asked.on(replace(device, shared_bytes_per_block=limit - 1))
        assert feasible(less, question.intervals, "cpsat", BUDGET) is False, "the number is the least that helps"
        return asked.on(replace(device, shared_bytes_per_block=limit)), question.intervals
    if conflict.family == "tensor_memory":
        columns = device.tensor_columns + amount
        return asked.on(replace(device, tensor_columns=columns)), question.intervals
    return replace(asked, relaxed=(conflict.family,)), question.intervals


def instead(why: str, way: Relaxation) -> str:
    """The question with the choices of a way out in place of its own about the same thing."""
    changed = {choice.partition("=")[0].strip() for choice in way.why.split(",")}
    kept = [choice for choice in map(str.strip, why.split(",")) if not about(choice.partition("=")[0], changed)]
    return ", ".join([*kept, way.why])


def about(path: str, changed: set[str]) -> bool:
    depths = path.endswith(".depth") and any(other.endswith(".depth") for other in changed)
    return path in changed or depths
