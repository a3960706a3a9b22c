"""A schedule found for one size is legal, and can be written, at the sizes that an example names for the check."""

from pathlib import Path

from warpwright.graphs import read_kernel
from warpwright.kernel_file import read_kernel_file
from warpwright.solver.domain import Feasible, ProvenOptimal, WarpSchedule, dump
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.verify import verify
from warpwright.solving import solve_kernel
from warpwright.tuning.children import ChildPool, Limits, Returned

ROOT = Path(__file__).resolve().parents[3]
TILE = {"BM": 128, "BN": 128, "BK": 64, "threads": 256}
ONE_VARIANT = TILE | {"stages": 3, "workers": 0, "parts": 0, "flight": 1, "panel": 8}


def test_the_gemm_examples_schedule_holds_at_its_other_size(pool: ChildPool) -> None:
    device = load_profile("h200")
    family = read_kernel_file(ROOT / "examples" / "gemm.py", settings=ONE_VARIANT, pool=pool)
    (variant,) = family.variants
    (size,) = variant.sizes
    assert size.name == "M=1000 N=1544"
    verdict = solve_kernel(family, device, pool=pool)
    assert isinstance(verdict, ProvenOptimal | Feasible)
    assert isinstance(verdict.schedule, WarpSchedule)
    graph, _ = read_kernel(size.ir, device, pool=pool)
    assert graph.grid == (13, 8, 1)[: len(graph.grid)]
    assert verify(graph, device, verdict.schedule) == ()
    payload = {"ir": size.ir, "schedule": dump(verdict.schedule)}
    written = pool.run("materialize.warp", payload, Limits(wall_seconds=120.0))
    assert isinstance(written, Returned)
    assert "ws_schedule" in written.value["ir"]
