"""A warm child that lowers Ascend kernels, and the IR of the test kernels."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from warpwright.solver.domain import HardwareProfile, Pins, dump
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool, Limits, Refused, Reply, Returned

LIMITS = Limits(wall_seconds=240, cpu_seconds=240, memory_bytes=8 << 30, output_bytes=64 << 20)
KERNELS = Path(__file__).parent / "kernels.py"

Ir = Callable[..., str]
Ask = Callable[..., Reply]


@pytest.fixture(scope="session")
def ascend_pool() -> Iterator[ChildPool]:
    with ChildPool(1, warm_task="lower.ascend") as pool:
        yield pool


@pytest.fixture(scope="session")
def ascend_ir(ascend_pool: ChildPool) -> Ir:
    """``ascend_ir(name, **parameters)``: IR JSON of a kernel of ``kernels.py``."""
    known: dict[str, str] = {}

    def read(name: str, **parameters: Any) -> str:
        key = f"{name} {sorted(parameters.items())}"
        if key not in known:
            payload = {"path": str(KERNELS), "function": name, "set": parameters}
            reply = ascend_pool.run("kernel_file.read", payload, LIMITS)
            assert isinstance(reply, Returned), reply
            known[key] = reply.value["variants"][0]["ir"]
        return known[key]

    return read


@pytest.fixture(scope="session")
def profile() -> HardwareProfile:
    return load_profile("ascend950")


@pytest.fixture(scope="session")
def ask(ascend_pool: ChildPool, profile: HardwareProfile) -> Ask:
    """``ask(task, ir, pins=..., **payload)``: the raw reply."""

    def run(task: str, ir: str, pins: Pins | None = None, **payload: Any) -> Reply:
        body = {"ir": ir, "profile": dump(profile), "pins": dump(pins or Pins()), **payload}
        return ascend_pool.run(task, body, LIMITS)

    return run


@pytest.fixture(scope="session")
def lowered(ask: Ask) -> Callable[..., dict[str, Any]]:
    """``lowered(ir, pins=...)``: the value of ``lower.ascend``, which must succeed."""

    def run(ir: str, pins: Pins | None = None) -> dict[str, Any]:
        reply = ask("lower.ascend", ir, pins)
        assert isinstance(reply, Returned), reply
        return reply.value

    return run


@pytest.fixture(scope="session")
def refused(ask: Ask) -> Callable[..., Refused]:
    """``refused(ir, pins=...)``: the refusal of ``lower.ascend``."""

    def run(ir: str, pins: Pins | None = None) -> Refused:
        reply = ask("lower.ascend", ir, pins)
        assert isinstance(reply, Refused), reply
        return reply

    return run
