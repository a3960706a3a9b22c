"""An Ascend kernel from the real TileLang to an object, with a stand-in for the compiler that is not here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpwright.lowering.compile import from_document
from warpwright.lowering.measure import MeasureJob
from warpwright.lowering.testing import toolchain as stand_in
from warpwright.solver.domain import Outcome, dump
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool, Limits, Returned
from warpwright.tuning.measure import measure_all

ROOT = Path(__file__).parents[3]

SAVE = """
import sys
sys.path.insert(0, "examples")
from tilelang import tvm
import ascend_gemm
open(sys.argv[1], "w").write(tvm.ir.save_json(ascend_gemm.kernel()))
"""


@pytest.fixture(scope="module")
def ir(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("ascend") / "ir.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", SAVE, str(file)], cwd=ROOT, env=environment, check=True, capture_output=True)
    return file.read_text()


def test_an_object_is_built_where_bisheng_is_and_no_npu_runs_it_here(
    ir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = {
        "ir": ir,
        "arch": "ascend950",
        "variant": "default",
        "schedule": None,
        "profile": dump(load_profile("ascend950")),
        "output": str(tmp_path / "out"),
    }
    stand_in.write(tmp_path / "bin", name="bisheng")
    with ChildPool(1, environment={"BISHENG_HOME": str(tmp_path)}) as pool:
        reply = pool.run("compile.ascend", payload, Limits(wall_seconds=240))
        assert isinstance(reply, Returned), reply
        built = from_document(reply.value)
    assert built.binary is not None
    assert Path(built.binary).read_bytes() == stand_in.shared_object()
    assert [(argument.name, argument.access) for argument in built.arguments] == [
        ("A", "in"),
        ("B", "in"),
        ("C", "out"),
    ]
    assert 'extern "C"' in (Path(built.binary).parent / "kernel.asc").read_text()
    monkeypatch.setenv("WARPWRIGHT_LEASES", str(tmp_path / "leases"))
    report = measure_all([MeasureJob("npu", built, built)], {"kind": "npu"}, lease_patience_seconds=0)
    assert report.results[0].outcome.kind is Outcome.NOT_APPLICABLE
    assert "torch_npu" in report.results[0].outcome.message
