"""Rules do not change under the same name: the verdicts on fixed schedules, and on wounds of them, are on record.

The record of a constraint set is made once. A test that fails here says that a family accepts or refuses another schedule
than before: results that are cached under the old name are then stale. Raise ``CONSTRAINT_SET`` and run this file with
``python -m tests.unit.solver.test_constraint_set``, which writes the record of the new name and never touches an old one.
"""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.differential.generate import mutations, noise
from tests import kernels
from warpwright.solver.domain import KernelGraph, WarpSchedule, digest_text, dumps, loads
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import CONSTRAINT_SET, WarpProblem, close_problem
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import violations

GOLDEN = Path(__file__).parents[2] / "golden" / "constraint_sets"
KERNELS: dict[str, tuple[Callable[[], KernelGraph], str]] = {
    "gemm": (kernels.gemm, "h200"),
    "persistent_gemm": (kernels.persistent_gemm, "h200"),
    "attention": (kernels.attention, "h200"),
    "two_gemms": (kernels.two_gemms, "h200"),
    "rewrites_after_use": (kernels.rewrites_after_use, "h200"),
    "filled_twice": (kernels.filled_twice, "h200"),
    "blackwell_gemm": (kernels.blackwell_gemm, "b200"),
}
WOUNDS, NOISE = 60, 25


def problem_of(name: str) -> WarpProblem:
    factory, profile = KERNELS[name]
    return close_problem(factory(), load_profile(profile))


def verdicts(problem: WarpProblem, legal: WarpSchedule) -> Iterator[list[str]]:
    """Rules that each schedule breaks: the legal one first, then its wounds, then noise."""
    wounds = islice(mutations(problem.graph, legal, seed=7), WOUNDS)
    for schedule in (legal, *wounds, *islice(noise(problem.graph, seed=7), NOISE)):
        yield sorted({f"{violation.family}/{violation.rule}" for violation in violations(problem, schedule)})


def digest_of(found: list[list[str]]) -> str:
    return digest_text(json.dumps(found))


def record_path() -> Path:
    return GOLDEN / f"{CONSTRAINT_SET.replace('/', '-')}.json"


@pytest.mark.parametrize("name", KERNELS)
def test_the_verdicts_of_this_constraint_set_are_what_they_were(name: str) -> None:
    assert record_path().exists(), f"no record of {CONSTRAINT_SET}: see this file's docstring"
    record = json.loads(record_path().read_text())[name]
    legal = loads(WarpSchedule, json.dumps(record["legal"]))
    assert isinstance(legal, WarpSchedule)
    found = list(verdicts(problem_of(name), legal))
    assert found[0] == []
    assert sum(not rules for rules in found) > 1
    assert digest_of(found) == record["digest"], f"{CONSTRAINT_SET} judges {name} otherwise than before: raise it"


def test_another_rule_is_another_digest() -> None:
    """The record sees a family that falls silent, whichever it is of those that the schedules meet."""
    problem = problem_of("attention")
    legal = loads(WarpSchedule, json.dumps(json.loads(record_path().read_text())["attention"]["legal"]))
    assert isinstance(legal, WarpSchedule)
    found = list(verdicts(problem, legal))
    families = {rule.split("/")[0] for rules in found for rule in rules}
    assert {
        "placement",
        "pipelines",
        "hand_offs",
        "register_pool",
        "pipeline_depth",
        "body_order",
        "deadlock",
    } <= families
    for family in families:
        silent = [[rule for rule in rules if not rule.startswith(f"{family}/")] for rules in found]
        assert digest_of(silent) != digest_of(found)


def main() -> None:
    """Writes the record of the present constraint set, once."""
    record = {}
    for name in KERNELS:
        problem = problem_of(name)
        legal = getattr(solve(problem), "schedule", None)
        assert isinstance(legal, WarpSchedule), name
        record[name] = {"digest": digest_of(list(verdicts(problem, legal))), "legal": json.loads(dumps(legal))}
    with record_path().open("x") as file:
        json.dump(record, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
