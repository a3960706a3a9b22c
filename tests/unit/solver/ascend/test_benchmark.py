"""The benchmark's arithmetic, and the captured calls that it runs on: proven, verified, in their order."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.ascend import CALLS, summary, table
from benchmarks.ascend_generated import generate
from warpwright.solver.ascend.problem import problem_from_call
from warpwright.solver.ascend.scheduler_call import run
from warpwright.solver.ascend.solve import solve_problem


@pytest.mark.parametrize("path", sorted(CALLS.glob("*.json")), ids=lambda path: path.stem)
def test_every_captured_call_is_proven(path: Path) -> None:
    rows = run(path)
    assert all(row["proven"] and row["bytes_proven"] for row in rows)
    assert all(row["lower_bound"] == row["ii"] for row in rows)


@pytest.mark.parametrize("offset", [True, False])
def test_generated_calls_are_proven(offset: bool) -> None:
    result = solve_problem(problem_from_call(generate(20, offset, True, 0)))
    assert result.answer is not None
    assert result.proven


def test_summary_and_table_count_killed_calls_apart() -> None:
    ours: dict[str, Any] = {"seconds": 0.01, "cpu_seconds": 0.01, "ii": 5, "bytes": 8, "proven": True, "tasks": 3}
    theirs: dict[str, Any] = {"seconds": 1.0, "cpu_seconds": 0.5, "ii": 5, "bytes": 8}
    rows = [
        {
            "call": "a",
            "ours": ours,
            "tilelang": theirs,
            "ratio": 100.0,
            "cpu_ratio": 50.0,
            "comparison": "equal ii and bytes",
        },
        {
            "call": "b",
            "ours": ours,
            "tilelang": {"killed_after": 9.0},
            "ratio": 900.0,
            "cpu_ratio": 900.0,
            "comparison": "killed",
        },
    ]
    found = summary(rows)
    assert found["geometric_mean_ratio"] == pytest.approx(100.0)
    assert found["geometric_mean_cpu_ratio"] == pytest.approx(50.0)
    assert found["geometric_mean_ratio_with_killed_at_their_limit"] == pytest.approx(300.0)
    assert found["comparison"] == {"equal ii and bytes": 1, "killed": 1}
    assert "| b | 3 | 5 / - | 8 / - | yes | 10.0 | > 9000 | > 900 | - |" in table(rows)
