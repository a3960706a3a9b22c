"""Kernels that compile and that no driver would launch, refused with the numbers."""

import pytest

from warpwright.lowering.compile import Launch
from warpwright.lowering.compile.launchable import over_resource
from warpwright.solver.domain import Outcome
from warpwright.solver.profiles import load_profile

H200 = load_profile("h200")


def launch(threads: int = 384, dynamic: int = 200_000, static: int = 1024) -> Launch:
    return Launch("k", (1, 1, 1), threads, 1, dynamic, static)


@pytest.mark.parametrize("case", [(384, 168, 231_424), (256, 255, 0), (1024, 64, 1000), (512, 128, 100_000)])
def test_what_fits_is_not_refused(case: tuple[int, int, int]) -> None:
    threads, registers, dynamic = case
    assert over_resource(launch(threads, dynamic, 0), registers, H200) is None


@pytest.mark.parametrize(
    ("threads", "registers", "dynamic", "resource", "needed", "limit"),
    [
        (512, 156, 0, "registers per block", 512 // 32 * 5120, 65_536),
        (384, 168, 262_144, "shared bytes per block", 263_168, 232_448),
        (384, 168, 232_448, "shared bytes per block", 233_472, 232_448),
        (1152, 32, 0, "threads per block", 1152, 1024),
    ],
)
def test_what_does_not_fit_says_by_how_much(
    threads: int, registers: int, dynamic: int, resource: str, needed: int, limit: int
) -> None:
    outcome = over_resource(launch(threads, dynamic), registers, H200)
    assert outcome is not None
    assert (outcome.kind, outcome.resource) == (Outcome.OVER_RESOURCE, resource)
    assert (outcome.needed, outcome.limit) == (needed, limit)
    assert outcome.kind.remembered
