"""The JSON form: round trip, refusals with code and place, agreement with the published schema, and the answer file."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.unit.solver.modulo.tiny import chain, two_groups
from warpwright.solver.domain import DocumentError
from warpwright.solver.modulo import parse_problem, problem_document, read_problem, solve, solve_file
from warpwright.solver.modulo.json_schema import PATH, text

Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize("problem", [chain(), two_groups()])
def test_a_problem_reads_back_equal(problem: Any) -> None:
    assert parse_problem(json.dumps(problem_document(problem))) == problem


def test_what_may_be_left_out_has_its_default() -> None:
    text = '{"schema":"warpwright.modulo-problem/1","name":"n","units":[],"ops":[{"id":"a","cycles":1}],"edges":[]}'
    problem = parse_problem(text)
    assert (problem.max_stages, problem.groups, problem.ops[0].warps) == (4, (), 1)


REFUSALS: list[tuple[Change, str, str]] = [
    (lambda d: d.update(schema="x"), "modulo-schema", "/schema"),
    (lambda d: d.update(schema=["x"]), "modulo-schema", "/schema"),
    (lambda d: d.pop("schema"), "modulo-missing-key", "/"),
    (lambda d: d.update(extra=1), "modulo-unknown-key", "/extra"),
    (lambda d: d.update(opps=d.pop("ops")), "modulo-unknown-key", "/opps"),
    (lambda d: d["edges"][0].update(source="product"), "modulo-unknown-key", "/edges/0/source"),
    (lambda d: d["edges"][0].pop("from"), "modulo-missing-key", "/edges/0"),
    (lambda d: d["ops"][1].update(memory={"shared": -1}), "modulo-out-of-range", "/ops/1/memory/shared"),
    (lambda d: d["ops"].append(3), "modulo-wrong-type", "/ops/3"),
    (lambda d: d["ops"][1].update(id="x" * 201), "modulo-wrong-type", "/ops/1/id"),
    (lambda d: d["edges"][0].update(wait=None), "modulo-wrong-type", "/edges/0/wait"),
    (lambda d: d.update(title=""), "modulo-wrong-type", "/title"),
    (lambda d: d.pop("ops"), "modulo-missing-key", "/"),
    (lambda d: d.update(ops=[]), "modulo-out-of-range", "/ops"),
    (lambda d: d.update(units={}), "modulo-wrong-type", "/units"),
    (lambda d: d.update(max_stages=0), "modulo-out-of-range", "/max_stages"),
    (lambda d: d["ops"][1].pop("cycles"), "modulo-missing-key", "/ops/1"),
    (lambda d: d["ops"][1].update(cycles=-1), "modulo-out-of-range", "/ops/1/cycles"),
    (lambda d: d["ops"][1].update(cycles=1.5), "modulo-wrong-type", "/ops/1/cycles"),
    (lambda d: d["ops"][1].update(cycles=True), "modulo-wrong-type", "/ops/1/cycles"),
    (lambda d: d["ops"][1].update(cycles=10**14), "modulo-out-of-range", "/ops/1/cycles"),
    (lambda d: d["ops"][1].update(id="product"), "modulo-duplicate-id", "/ops/1"),
    (lambda d: d["ops"][1].update(id=""), "modulo-wrong-type", "/ops/1/id"),
    (lambda d: d["ops"][1].update(memory={"dram": 1}), "modulo-unknown-reference", "/ops/1/memory/dram"),
    (lambda d: d["ops"][1].update(memory=[]), "modulo-wrong-type", "/ops/1/memory"),
    (lambda d: d["ops"][0]["uses"][0].update(unit="fpu"), "modulo-unknown-reference", "/ops/0/uses/0/unit"),
    (lambda d: d["ops"][0]["uses"][0].update(amount=0), "modulo-out-of-range", "/ops/0/uses/0/amount"),
    (lambda d: d["edges"][0].update(to="none"), "modulo-unknown-reference", "/edges/0/to"),
    (lambda d: d["edges"][0].update(wait="maybe"), "modulo-out-of-range", "/edges/0/wait"),
    (lambda d: d["edges"][0].update(value=1), "modulo-wrong-type", "/edges/0/value"),
    (lambda d: d["edges"][0].update(distance=-1), "modulo-out-of-range", "/edges/0/distance"),
    (lambda d: d.update(groups=[]), "modulo-no-group", "/ops/0/registers"),
    (lambda d: d["ops"][0].update(groups=["third"]), "modulo-unknown-reference", "/ops/0/groups/0"),
    (lambda d: d["groups"][0].update(warps=0), "modulo-out-of-range", "/groups/0/warps"),
    (lambda d: d["groups"].append(d["groups"][0]), "modulo-duplicate-id", "/groups/2"),
    (lambda d: d.update(units=[{"name": f"u{i}", "capacity": 1} for i in range(65)]), "modulo-too-large", "/units"),
]


@pytest.mark.parametrize(("change", "code", "place"), REFUSALS)
def test_a_spoilt_problem_is_refused_with_code_and_place(change: Change, code: str, place: str) -> None:
    document = problem_document(two_groups())
    change(document)
    with pytest.raises(DocumentError) as caught:
        parse_problem(json.dumps(document))
    assert (caught.value.code, caught.value.place) == (code, place)


@pytest.mark.parametrize("text", ["", "[", '{"schema": 1, "schema": 2}', "NaN", "[" * 100_000])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_problem(text)
    assert caught.value.code in ("modulo-not-json", "modulo-wrong-type")


STRUCTURAL = {"modulo-duplicate-id", "modulo-unknown-reference", "modulo-no-group"}
"""What a JSON schema cannot say: references between parts."""


def test_the_published_schema_is_the_one_of_the_types() -> None:
    assert PATH.read_text(encoding="utf-8") == text(), "run: python -m warpwright.solver.modulo.json_schema"


def test_the_published_schema_and_the_reader_agree() -> None:
    text = resources.files("warpwright.solver.modulo").joinpath("schema.json").read_text(encoding="utf-8")
    validator = jsonschema_rs.validator_for(json.loads(text))
    assert validator.is_valid(problem_document(two_groups()))
    for change, code, _ in REFUSALS:
        document = problem_document(two_groups())
        change(document)
        assert validator.is_valid(document) == (code in STRUCTURAL), code


def test_a_file_is_solved_and_its_answer_can_be_read_by_a_machine(tmp_path: Path) -> None:
    file = tmp_path / "problem.json"
    file.write_text(json.dumps(problem_document(two_groups())), encoding="utf-8")
    answer = json.loads(json.dumps(solve_file(file)))
    assert answer["schema"] == "warpwright.modulo-answer/1"
    assert answer["proven"]
    assert answer["verified"]
    assert answer["interval"] == answer["bound"]["cycles"]
    assert {entry["op"] for entry in answer["schedule"]} == {"product", "softmax", "output"}
    assert all(entry["stage"] == entry["start"] // answer["interval"] for entry in answer["schedule"])


def test_a_file_without_a_schedule_says_why(tmp_path: Path) -> None:
    document = problem_document(chain())
    document["memories"][0]["capacity"] = 1
    document["ops"][0]["memory"]["shared"] = 2
    file = tmp_path / "problem.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    answer = solve_file(file)
    assert (answer["status"], answer["interval"]) == ("infeasible", None)
    assert answer["conflicts"][0]["message"] == "load holds 2 of shared, which has 1"


def test_the_example_of_the_documentation_is_solved() -> None:
    page = (Path(__file__).parents[4] / "docs" / "modulo.md").read_text(encoding="utf-8")
    problem = parse_problem(page.split("```json\n")[1].split("```")[0])
    answer = solve(problem)
    assert answer.status == "proven_optimal"
    assert answer.schedule is not None
    assert answer.schedule.interval == 2048


def test_unreadable_files_and_unknown_engines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        read_problem(tmp_path / "none.json")
    assert caught.value.code == "modulo-unreadable"
    with pytest.raises(DocumentError) as caught:
        solve_file(tmp_path / "none.json", engine="gurobi")
    assert caught.value.code == "modulo-unknown-engine"
