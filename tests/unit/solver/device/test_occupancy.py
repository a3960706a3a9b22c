"""Blocks that an SM holds at once, by each resource alone and together."""

from dataclasses import replace

import pytest

from warpwright.solver.device.limits import read_limits
from warpwright.solver.device.occupancy import Footprint, allocated_registers, blocks_by_resource, blocks_per_sm
from warpwright.solver.profiles import load_profile

H200 = read_limits(load_profile("h200"))


@pytest.mark.parametrize(
    ("footprint", "blocks", "least"),
    [
        (Footprint(384, 168, 214_016), 1, "shared memory"),
        (Footprint(384, 168, 113_664), 1, "registers"),
        (Footprint(384, 80, 115_712), 2, "shared memory"),
        (Footprint(384, 80, 115_713), 1, "shared memory"),
        (Footprint(1024, 32, 1024), 2, "warps"),
        (Footprint(32, 16, 0), 32, "block slots"),
    ],
)
def test_the_scarcest_resource_decides(footprint: Footprint, blocks: int, least: str) -> None:
    by_resource = blocks_by_resource(H200, footprint)
    assert blocks_per_sm(H200, footprint) == blocks == by_resource[least] == min(by_resource.values())


def test_a_block_beyond_its_own_limit_does_not_fit_though_an_sm_has_the_bytes() -> None:
    limits = replace(H200, shared_bytes_per_block=100_000)
    assert blocks_per_sm(limits, Footprint(128, 32, 100_000)) == 2
    assert blocks_per_sm(limits, Footprint(128, 32, 100_001)) == 0


@pytest.mark.parametrize(("registers", "taken"), [(32, 4 * 1024), (33, 4 * 1280), (40, 4 * 1280), (168, 4 * 5376)])
def test_registers_are_handed_out_in_units_of_a_warp(registers: int, taken: int) -> None:
    assert allocated_registers(128, registers, H200.register_unit_per_warp) == taken


def test_tensor_memory_limits_blocks_by_its_columns() -> None:
    limits = read_limits(load_profile("b200"))
    assert blocks_per_sm(limits, Footprint(128, 32, 1024, 256)) == 2
    assert blocks_per_sm(limits, Footprint(128, 32, 1024, 512)) == 1
