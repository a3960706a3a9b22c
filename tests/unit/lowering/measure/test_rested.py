"""A rested protocol leaves the device idle before every batch of timed launches, an ordinary one never does."""

import time
from dataclasses import replace

import pytest

from warpwright.lowering.measure.protocol import GPU_1, GPU_1_RESTED
from warpwright.lowering.measure.runner import MeasureJob, measure, rounds
from warpwright.lowering.testing.device import SimulatedDevice, simulated_kernel

JOBS = [MeasureJob(name, simulated_kernel(name), simulated_kernel("reference")) for name in ("a", "b", "c")]
DEVICE = {"kernels": {name: {"ns": 3_000_000} for name in ("a", "b", "c", "reference")}}


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds: list[float] = []
    monkeypatch.setattr(time, "sleep", lambda s: seconds.append(s) if s else None)  # 0: the simulated load time
    return seconds


def test_every_candidate_of_every_round_is_rested(rests: list[float]) -> None:
    found = rounds(SimulatedDevice(DEVICE), JOBS, replace(GPU_1_RESTED, rounds=4))
    assert rests == [0.12] * 4 * len(JOBS)
    assert {name: len(times) for name, times in found.figures_ns.items()} == {"a": 4, "b": 4, "c": 4}
    assert found.protocol == "gpu-1-rested"


def test_one_candidate_is_timed_in_short_batches(rests: list[float]) -> None:
    result = measure(SimulatedDevice(DEVICE), JOBS[0], GPU_1_RESTED)
    assert result.summary is not None
    assert result.summary.count >= GPU_1_RESTED.runs_minimum
    assert len(rests) == -(-result.summary.count // GPU_1_RESTED.runs_per_round)


def test_the_sustained_protocol_never_rests(rests: list[float]) -> None:
    device = SimulatedDevice(DEVICE)
    measure(device, JOBS[0], GPU_1)
    rounds(device, JOBS, GPU_1)
    assert rests == []
