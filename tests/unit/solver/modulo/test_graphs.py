"""The benchmark's graphs are what they say: published costs, constraint classes all there, and a proof for the small ones."""

import pytest

from benchmarks.graphs import SIZES, attention_cases, scaling_case, shape_cases
from benchmarks.solve import measure
from warpwright.solver.engines import Budget
from warpwright.solver.modulo import ModuloWait, solve
from warpwright.solver.modulo.bounds import impossible
from warpwright.solver.modulo.run import encode
from warpwright.solver.modulo.size import joint_size


def test_a_hopper_product_of_128_cubed_and_its_exponentials_take_1024_cycles_each() -> None:
    problem = attention_cases()["hopper-forward-coarse"]()
    assert problem.op("qk0").cycles == problem.op("exp0").cycles == 1024


@pytest.mark.parametrize("name", list(attention_cases()))
def test_every_published_constraint_class_is_in_every_graph(name: str) -> None:
    problem = attention_cases()[name]()
    assert not impossible(problem)
    assert any(edge.distance for edge in problem.edges)
    assert {edge.wait for edge in problem.edges} == {ModuloWait.NEVER, ModuloWait.ACROSS, ModuloWait.ALWAYS}
    assert any(op.registers for op in problem.ops)
    assert any(op.memory for op in problem.ops)
    assert any(op.spill_cycles for op in problem.ops)
    assert any(op.variable_latency for op in problem.ops)
    assert sum(group.variable_latency for group in problem.groups) == 1


@pytest.mark.parametrize("size", SIZES)
def test_the_series_has_the_sizes_it_names(size: int) -> None:
    assert len(scaling_case(size).ops) == size


@pytest.mark.parametrize("name", ["hopper-forward", "hopper-backward", "blackwell-backward"])
def test_attention_graphs_are_proven_and_replayed(name: str) -> None:
    row = measure(name, attention_cases()[name](), "cpsat", Budget())
    assert row["proven"]
    assert row["verified"]
    assert row["interval"] == row["bound"]


@pytest.mark.parametrize("size", [100, 200])
def test_the_large_end_of_the_series_is_proven_without_a_model(size: int) -> None:
    row = measure(f"scaling-{size}", scaling_case(size), "cpsat", Budget())
    assert row["proven"]
    assert row["verified"]
    assert row["interval"] == row["bound"] == (size - 1) // 8 * 256
    assert (row["engine"], row["proven_by"]) == ("constructive", "arithmetic")


@pytest.mark.parametrize("name", ["hopper-forward", "blackwell-backward-reduced", "product-chain-8", "random-50"])
def test_the_size_of_the_joint_model_is_estimated_before_it_is_built(name: str) -> None:
    problem = {**attention_cases(), **shape_cases()}[name]()
    built = len(encode(problem, 3_000, 3_000).model.constraints)
    assert 0.75 * built < joint_size(problem) < 1.5 * built


def test_an_answer_to_a_large_problem_is_kept_as_built() -> None:
    answer = solve(scaling_case(200))
    assert (answer.status, answer.polished_by, answer.length_proven) == ("proven_optimal", "", False)
    assert {attempt.engine for attempt in answer.attempts} == {"constructive"}


@pytest.mark.parametrize("name", ["blackwell-backward-16", "product-chain-48", "random-100"])
def test_graphs_of_other_shapes_are_proven_too(name: str) -> None:
    row = measure(name, shape_cases()[name](), "cpsat", Budget())
    assert row["proven"]
    assert row["verified"]


def test_every_case_of_another_shape_is_a_problem_that_arithmetic_lets_pass() -> None:
    for name, generate in shape_cases().items():
        assert not impossible(generate()), name
