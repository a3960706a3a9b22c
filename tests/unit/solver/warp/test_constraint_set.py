"""Rules do not change under the same name: the verdicts on fixed schedules, and on mutations of them, are on record.

The record of a constraint set is made once. A test that fails here says that a family accepts or refuses another schedule
than before: results that are cached under the old name are then stale. Raise ``CONSTRAINT_SET`` and run this file with
``python -m tests.unit.solver.warp.test_constraint_set``, which writes the record of the new name and never touches an
old one. One line a schedule says which rules it breaks, so that a diff of two records says what changed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from benchmarks.differential.generate import mutations, noise
from benchmarks.mutation import Mutation, emptied
from tests import kernels
from warpwright.solver.domain import KernelGraph, WarpSchedule, dumps, loads
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import CONSTRAINT_SET, WarpProblem, close_problem
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import violations

GOLDEN = Path(__file__).parents[3] / "golden" / "constraint_sets"
KERNELS: dict[str, tuple[Callable[[], KernelGraph], str]] = {
    "gemm": (kernels.gemm, "h200"),
    "persistent_gemm": (kernels.persistent_gemm, "h200"),
    "attention": (kernels.attention, "h200"),
    "two_gemms": (kernels.two_gemms, "h200"),
    "rewrites_after_use": (kernels.rewrites_after_use, "h200"),
    "filled_twice": (kernels.filled_twice, "h200"),
    "scattered": (kernels.scattered, "h200"),
    "blackwell_gemm": (kernels.blackwell_gemm, "b200"),
    "persistent_blackwell_gemm": (kernels.persistent_blackwell_gemm, "b200"),
}
MUTATIONS, NOISE = 60, 25
ACCEPTED = "accepted"


def problem_of(name: str) -> WarpProblem:
    factory, profile = KERNELS[name]
    return close_problem(factory(), load_profile(profile))


def verdicts(problem: WarpProblem, legal: WarpSchedule) -> Iterator[str]:
    """One line per schedule with the rules that it breaks: the legal one first, then its mutations, then noise."""
    changed = [(f"wound {n}", s) for n, s in enumerate(islice(mutations(problem.graph, legal, seed=7), MUTATIONS), 1)]
    random = [(f"noise {n}", s) for n, s in enumerate(islice(noise(problem.graph, seed=7), NOISE), 1)]
    for name, schedule in (("legal", legal), *changed, *random):
        rules = sorted({f"{violation.family}/{violation.rule}" for violation in violations(problem, schedule)})
        yield f"{name}: {', '.join(rules) or ACCEPTED}"


def record_path() -> Path:
    return GOLDEN / f"{CONSTRAINT_SET.replace('/', '-')}.json"


def legal_of(record: Mapping[str, Any], name: str) -> WarpSchedule:
    legal = loads(WarpSchedule, json.dumps(record[name]["legal"]))
    assert isinstance(legal, WarpSchedule)
    return legal


@pytest.mark.parametrize("name", KERNELS)
def test_the_verdicts_of_this_constraint_set_are_what_they_were(name: str) -> None:
    assert record_path().exists(), f"no record of {CONSTRAINT_SET}: see this file's docstring"
    record = json.loads(record_path().read_text())
    found = list(verdicts(problem_of(name), legal_of(record, name)))
    assert found[0] == f"legal: {ACCEPTED}"
    assert sum(line.endswith(ACCEPTED) for line in found) > 1
    changed = "\n".join(unified_diff(record[name]["verdicts"], found, "on record", "now", n=0, lineterm=""))
    assert not changed, f"{CONSTRAINT_SET} judges {name} otherwise than before: raise it\n{changed}"


def test_the_record_sees_a_family_that_falls_silent() -> None:
    """Whichever it is of those that the schedules meet."""
    record = json.loads(record_path().read_text())
    problem, legal = problem_of("attention"), legal_of(record, "attention")
    met = {rule.split("/")[0] for line in record["attention"]["verdicts"] for rule in line.split(": ")[1].split(", ")}
    assert met >= {
        "placement", "pipelines", "hand_offs", "register_pool", "pipeline_depth", "body_order", "deadlock",
    }  # fmt: skip
    for family in met - {ACCEPTED}:
        with emptied(Mutation("warp", family, "check")):
            assert list(verdicts(problem, legal)) != record["attention"]["verdicts"], family


def test_a_record_names_rules_and_not_digests() -> None:
    """The command writes what the test reads, from the legal schedules of the record before."""
    made = record_of(json.loads(record_path().read_text()), ["gemm"])
    assert made["gemm"] == json.loads(record_path().read_text())["gemm"]
    assert any("pipelines/" in line for line in made["gemm"]["verdicts"])


def record_of(before: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The record of the present constraint set. Legal schedules stay those of an older record as long as they are legal."""
    record = {}
    for name in names:
        problem = problem_of(name)
        legal = legal_of(before, name) if name in before else None
        if legal is None or violations(problem, legal):
            legal = getattr(solve(problem), "schedule", None)
        assert isinstance(legal, WarpSchedule), name
        record[name] = {"legal": json.loads(dumps(legal)), "verdicts": list(verdicts(problem, legal))}
    return record


def main() -> None:
    """Writes the record of the present constraint set, once."""
    older = sorted(GOLDEN.glob("*.json"), key=lambda path: int(path.stem.rpartition("-")[2]))
    before = json.loads(older[-1].read_text()) if older else {}
    with record_path().open("x") as file:
        json.dump(record_of(before, KERNELS), file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
