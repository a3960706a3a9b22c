"""Every kernel file of ``examples/``: it is read with all its variants, and the default has a schedule that the verifier accepts.

A new kernel file is among them by lying there. Files called ``ascend_*`` are for an Ascend device, ``blackwell_*`` for a B200,
all others for an H200.
"""

from pathlib import Path
from typing import Any

import pytest

from warpwright.graphs import read_graph
from warpwright.kernel_file import read_kernel_file
from warpwright.legality import violations_of
from warpwright.solver.domain import Feasible, ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solving import solve_kernel
from warpwright.tuning.children import ChildPool

DEVICES = {"ascend": "ascend950", "blackwell": "b200"}
FILES = sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.py"))


def each(file: Path) -> Any:
    """A kernel with tensor memory is solved, verified and built in its own tests (``test_blackwell``) and takes long."""
    marks = [pytest.mark.slow] if file.stem.startswith("blackwell_") else []
    return pytest.param(file, marks=marks, id=file.stem)


@pytest.mark.parametrize("file", [each(file) for file in FILES])
def test_a_kernel_file_has_a_legal_schedule(file: Path, pool: ChildPool) -> None:
    family = read_kernel_file(file, pool=pool)
    assert len({variant.ir for variant in family.variants}) == len(family.variants)
    profile = load_profile(DEVICES.get(file.stem.partition("_")[0], "h200"))
    for variant in family.variants:
        read_graph(variant.ir, profile, pool=pool)
    verdict = solve_kernel(family, profile, pool=pool)
    assert isinstance(verdict, ProvenOptimal | Feasible), verdict
    graph = read_graph(family.variants[0].ir, profile, pool=pool)
    assert violations_of(graph, profile, verdict.schedule) == ()
