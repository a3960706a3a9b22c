"""Scheduler calls with known optima: the numbers come from TileLang's own cost model and are worked out by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from warpwright.solver.ascend.conflicts import conflicts
from warpwright.solver.ascend.problem import LoopProblem, problem_from_call
from warpwright.solver.ascend.scheduler_call import run
from warpwright.solver.ascend.solve import solve_call
from warpwright.solver.domain import DocumentError


def gemm_call(**changes: Any) -> dict[str, Any]:
    """One k iteration of a 256 x 224 x 128 product: two loads on MTE2, one Cube task, both operands versioned."""
    call: dict[str, Any] = {
        "kind": "loop",
        "num_stages": 2,
        "latencies": [846, 764, 1800],
        "iis": [656, 574, 1792],
        "resource_flags": [2, 2, 8],
        "data_deps": [
            [0, 2, 0, 846],
            [1, 2, 0, 764],
            [0, 0, -1, 846],
            [1, 1, -2, 764],
            [2, 0, -1, 1800],
            [2, 1, -2, 1800],
            [2, 2, 1, 1800],
        ],
        "resource_deps": [[0, 1]],
        "owner_exclusion_deps": [],
        "pipe_order_deps": [],
        "buffer_sizes": [65536, 57344],
        "memory_groups": [[221184], [65536], [65536], [32768], [524288, 0, 1]],
        "stage_order_deps": [],
        "enable_offset": False,
        "manual_stages": [0, 0, 0],
        "manual_schedule": False,
    }
    return call | changes


def test_gemm_needs_both_operands_twice_and_the_accumulator_binds() -> None:
    result = solve_call(gemm_call())
    assert result.answer is not None
    assert (result.answer.interval, result.answer.versions) == (1800, (2, 2))
    assert result.proven
    assert result.lower_bound.reason.startswith("recurrence:2,")


def test_opting_one_operand_out_costs_the_interval() -> None:
    """A with one version: its load (846) and its use (1800) follow each other in every iteration."""
    deps = [[0, 2, 0, 846], [1, 2, 0, 764], [1, 1, -1, 764], [2, 1, -1, 1800], [2, 0, 1, 1800], [2, 2, 1, 1800]]
    result = solve_call(
        gemm_call(
            data_deps=deps, buffer_sizes=[57344], memory_groups=[[221184], [65536], [65536], [32768], [458752, 0]]
        )
    )
    assert result.answer is not None
    assert result.answer.interval == 2646
    assert result.proven


def test_memory_for_one_version_each_gives_a_longer_interval() -> None:
    result = solve_call(gemm_call(memory_groups=[[221184], [65536], [65536], [32768], [188416, 0, 1]]))
    assert result.answer is not None
    assert sum(result.answer.versions) == 3
    assert result.answer.interval is not None
    assert result.answer.interval > 1800
    assert result.proven


def test_memory_below_one_version_each_is_infeasible_with_the_numbers() -> None:
    call = gemm_call(memory_groups=[[221184], [65536], [65536], [32768], [122879, 0, 1]])
    result = solve_call(call)
    assert result.answer is None
    assert result.proven
    problem = problem_from_call(call)
    assert isinstance(problem, LoopProblem)
    (conflict,) = conflicts(problem, ["A", "B"])
    assert conflict.family == "memory_capacity"
    assert "A 65536 + B 57344 = 122880 bytes, of 122879 available" in conflict.message
    assert "free 1 bytes" in conflict.relaxation


def test_a_producer_that_runs_ahead_needs_more_copies() -> None:
    """Bug case 95: k stages ahead means k + 1 versions; with too few the interval grows, never fewer copies."""
    deps = [[0, 1, 0, 300], [1, 0, -1, 100], [1, 1, 1, 100]]
    call: dict[str, Any] = gemm_call(
        latencies=[300, 100],
        iis=[50, 100],
        resource_flags=[2, 16],
        data_deps=deps,
        resource_deps=[],
        buffer_sizes=[1000],
        memory_groups=[[100_000, 0]],
        manual_stages=[0, 0],
        num_stages=8,
    )
    ample = solve_call(call)
    tight = solve_call(call | {"memory_groups": [[2000, 0]]})
    assert ample.answer is not None
    assert tight.answer is not None
    assert (ample.answer.interval, ample.answer.versions) == (100, (4,))
    assert (tight.answer.interval, tight.answer.versions) == (200, (2,))


def test_manual_stages_are_kept() -> None:
    call = gemm_call(enable_offset=True, manual_schedule=True, manual_stages=[0, 0, 1], pipe_order_deps=[[0, 1]])
    result = solve_call(call)
    assert result.answer is not None
    assert [result.answer.stage(t) for t in range(3)] == [0, 0, 1]
    assert result.answer.phase(0) <= result.answer.phase(1)


def test_ten_trillion_cycles_stay_exact() -> None:
    """Bug case 70: large numbers neither overflow nor read as "no solution"."""
    scale = 10**10
    base = gemm_call()
    big = gemm_call(
        latencies=[v * scale for v in base["latencies"]],
        iis=[v * scale for v in base["iis"]],
        data_deps=[[u, v, d, lag * scale] for u, v, d, lag in base["data_deps"]],
    )
    result = solve_call(big)
    assert result.answer is not None
    assert result.answer.interval == 1800 * scale


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"iis": [1, 2]}, "iis"),
        ({"latencies": []}, "latencies"),
        ({"num_stages": 0}, "num_stages"),
        ({"num_stages": 2.0}, "num_stages"),
        ({"data_deps": [[0, 9, 0, 1]]}, "data_deps"),
        ({"data_deps": [[0, 1, -7, 1]]}, "data_deps"),
        ({"data_deps": [[0, 1, 0, -1]]}, "data_deps"),
        ({"resource_deps": [[0, 1, 2]]}, "resource_deps"),
        ({"buffer_sizes": ["a", 1]}, "buffer_sizes"),
        ({"memory_groups": [[1, 7]]}, "memory_groups"),
        ({"latencies": [2**51, 1, 1]}, "latencies"),
        ({"manual_schedule": True, "manual_stages": [0, 0, 1]}, "manual_stages"),
        ({"kind": "spiral"}, "kind"),
    ],
)
def test_wrong_calls_name_the_field(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(DocumentError) as error:
        problem_from_call(gemm_call(**changes))
    assert error.value.code == "call-invalid"
    assert error.value.place == place


def test_files_give_a_row_a_call(tmp_path: Path) -> None:
    straight = {
        "kind": "straight",
        "latencies": [100, 50, 70],
        "iis": [100, 50, 70],
        "resource_flags": [2, 16, 4],
        "data_deps": [[0, 1, 100]],
        "resource_deps": [[0, 2]],
    }
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"calls": [{"inputs": gemm_call()}, straight]}))
    loop_row, straight_row = run(path)
    assert loop_row.items() >= {"file": "two.json", "call": 0, "ii": 1800, "proven": True, "bytes": 245760}.items()
    assert straight_row.items() >= {"ii": None, "makespan": 170, "proven": True, "versions": []}.items()


@pytest.mark.parametrize("text", ["{", "[]", '{"calls": [1]}'])
def test_files_without_calls_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(DocumentError):
        run(path)
