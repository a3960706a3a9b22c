"""One device model: rules and forecast say the same of every schedule on record, and compiled kernels bear them out."""

from dataclasses import replace

import pytest

from tests.unit.solver.device.recorded import Recorded, compiled, recorded
from warpwright.solver.device.limits import read_limits
from warpwright.solver.device.shared_memory import BARRIERS, alignment_of, holders, shared_buffers
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.certify import EngineAccount, certificate_with
from warpwright.solver.warp.families import family
from warpwright.solver.warp.problem import CONSUMER, close_problem
from warpwright.solver.warp.registers import role_need
from warpwright.solver.warp.schedule_reader import Reading

STEP = 8
"""Budgets are multiples of it."""
LEAST_SCHEDULES = 180
NO_SEARCH = EngineAccount("cpsat", "none", 0, 0, 0, proven=False)
MISSES = {
    "example_attention_0-own": -32,
    "example_attention_2-own": -16,
    "example_attention_3-own": -16,
    "example_attention_3-1": -8,
    "causal_attention-own": -8,
    "odd_rows-own": -88,
    "last_tile_again-own": -56,
    "example_gemm_7-own": -16,
    "example_gemm_8-own": -16,
    "example_gemm_9-own": -16,
    "example_gemm_10-own": -8,
    "example_gemm_11-own": -16,
    "loads_around_loop-own": -8,
    "two_loops-own": -8,
    "layernorm-own": 72,
    "softmax-own": 80,
    "softmax-2": 40,
    "promoted_fp8-own": 24,
    "local_variables-own": 8,
    "row_products-own": 16,
    "row_products-2": 16,
    "elementwise-own": 8,
    "gemv-2": 8,
    "shared_view-own": 8,
}
"""Softmax keeps more alive than the order says, epilogues move data through more registers; arithmetic without products is
cut into pieces that the model counts whole. 31 of 55 kernels are met to the step."""


def test_the_record_is_as_large_as_it_was() -> None:
    assert len(recorded()) > LEAST_SCHEDULES


def test_rules_certificate_and_forecast_agree_on_bytes_and_registers() -> None:
    """What a rule counts, what a certificate states, and what the forecast plays, schedule by schedule."""
    for one in recorded():
        profile = load_profile(one.profile)
        problem = close_problem(one.graph, profile)
        reading = Reading(problem, one.schedule)
        played = simulate(one.graph, profile, one.schedule)
        assert played.footprint is not None
        stated = certificate_with(problem, one.schedule, NO_SEARCH)
        (memory,) = family("shared_memory").explain(problem, reading)
        assert memory.used == played.footprint.shared_bytes == stated.on_chip_bytes, one
        needs = {fact.resource: fact for fact in family("register_need").explain(problem, reading)}
        for role, registers in played.registers.items():
            fact = needs[f"{role} registers"]
            assert (fact.used, fact.limit) == (registers.needed, registers.budget), (one, role)
        (blocks,) = family("occupancy").explain(problem, reading)
        assert blocks.limit is not None
        assert played.blocks_per_sm <= max(blocks.limit, 1), one
        (pool,) = family("register_pool").explain(problem, reading)
        assert pool.limit == 32 * one.schedule.num_warps * played.footprint.registers_per_thread, one


@pytest.mark.parametrize("one", compiled(), ids=str)
def test_bytes_are_those_of_the_compiled_kernel(one: Recorded) -> None:
    """Static bytes to the byte. Dynamic bytes too where sizes are multiples of the alignment; never fewer, and never by more
    than an alignment a buffer.
    """
    graph, line = one.graph, one.line
    held = dict(holders(graph, one.schedule))
    static, dynamic = held.pop(BARRIERS), sum(held.values())
    assert static == line["static_bytes"]
    loose = [b for b in shared_buffers(graph) if b.bytes % alignment_of(graph)]
    assert 0 <= dynamic - line["dynamic_bytes"] <= len(loose) * alignment_of(graph)


def off_by(product_registers: int) -> dict[str, int]:
    """Registers by which the model's least budget of a consumer misses the one that ptxas 13.0.88 needs."""
    found = {}
    for one in compiled():
        if one.line["least_registers"] is None:
            continue
        problem = close_problem(one.graph, load_profile(one.profile))
        device = replace(problem.device, product_registers=product_registers)
        reading = Reading(problem.on(device), one.schedule)
        needed = max(role_need(reading, CONSUMER).registers, device.setmaxnreg_minimum)
        found[one.name] = -(-needed // STEP) * STEP - one.line["least_registers"]
    return found


def test_registers_beside_the_accumulators_are_those_that_the_assembler_needs() -> None:
    """The count of ptxas's message C7602 fits most kernels; the forecast had its own, 24, which fits a third as many."""
    own = own_count()
    exact = {count: sum(miss == 0 for miss in off_by(count).values()) for count in range(16, 40)}
    assert exact[own] == max(exact.values())
    assert exact[own] > 2 * exact[24]


def test_misses_of_the_register_model_are_known() -> None:
    """What the model does not know yet: positive is more than needed, negative less. A change shows up here."""
    assert {name: miss for name, miss in off_by(own_count()).items() if miss} == MISSES


def own_count() -> int:
    return read_limits(load_profile("h200")).product_registers
