"""Numbers that other facts pin down: peaks, capacities and the reserves of the Ascend parts."""

import pytest

from warpwright.solver.profiles import builtin_profile

PEAKS = [
    ("a100", "bf16", 312e12),
    ("h100", "bf16", 989e12),
    ("h200", "bf16", 989e12),
    ("b200", "bf16", 2250e12),
    ("l40s", "bf16", 362e12),
    ("rtx4090", "bf16", 165.2e12),
    ("rtx5090", "bf16", 209.5e12),
    ("h200", "fp8", 1979e12),
    ("b200", "fp8", 4500e12),
    ("l40s", "fp8", 733e12),
    ("rtx4090", "fp8", 330.3e12),
]


@pytest.mark.parametrize(("name", "dtype", "peak"), PEAKS)
def test_macs_per_cycle_reproduce_the_stated_peak(name: str, dtype: str, peak: float) -> None:
    profile = builtin_profile(name)
    clock = "sm.clock_tensor_peak" if profile.has("sm.clock_tensor_peak") else "sm.clock_boost"
    macs = profile.number(f"tensor_core.{dtype}_macs_per_cycle", "MACs/cycle")
    found = 2 * macs * profile.number("sm.count", "count") * profile.number(clock, "MHz") * 1e6
    assert found == pytest.approx(peak, rel=0.013)


@pytest.mark.parametrize("name", ["a100", "h100", "h200", "b200", "l40s", "rtx4090", "rtx5090"])
def test_a_block_may_hold_what_the_multiprocessor_has_less_its_reserve(name: str) -> None:
    profile = builtin_profile(name)
    reserve = profile.integer("shared.reserved_per_block", "bytes")
    assert profile.integer("shared.per_block", "bytes") + reserve == profile.integer("shared.per_sm", "bytes")


@pytest.mark.parametrize("name", ["ascend910b", "ascend910c"])
def test_a2_and_a3_keep_256_bytes_of_l1_and_of_the_unified_buffer(name: str) -> None:
    profile = builtin_profile(name)
    usable = profile.integer("l1.bytes", "bytes") - profile.integer("l1.reserved", "bytes")
    assert usable == 524_032
    assert profile.integer("ub.bytes", "bytes") - profile.integer("ub.reserved", "bytes") == 196_352
    assert profile.integer("l0b.bytes", "bytes") == 65_536


def test_a_simt_kernel_on_the_950_loses_32_kib_of_unified_buffer() -> None:
    profile = builtin_profile("ascend950")
    lost = profile.integer("ub.bytes", "bytes") - profile.integer("ub.bytes_with_simt", "bytes")
    assert lost == 32 * 1024
