"""A reference for kernels whose loop TileLang cannot pipeline: without it nothing of them could be checked."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from warpwright.lowering.compile import from_document
from warpwright.solver.domain import Outcome, dump
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool, Limits, Returned

ROOT = Path(__file__).resolve().parents[3]
BUILD = """
import sys
from pathlib import Path
from tests.integration.lowering.frontend.build_corpus import HERE, load
from tilelang import tvm

for name in sys.argv[2:]:
    module = next(m for m in map(load, (HERE / "corpus").glob("*.py")) if hasattr(m, name))
    (Path(sys.argv[1]) / name).write_text(tvm.ir.save_json(getattr(module, name)()))
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ir")
    subprocess.run(
        [
            sys.executable,
            "-c",
            BUILD,
            folder,
            "filled_twice",
            "two_loops",
            "split_k_gemm",
            "guarded_copies",
            "last_tile_again",
        ],
        check=True,
        cwd=ROOT,
        timeout=120,
    )
    return folder


@pytest.mark.parametrize(
    ("name", "variant", "kind", "plain"),
    [
        ("filled_twice", "unspecialized", Outcome.COMPILED, True),
        ("filled_twice", "default", Outcome.COMPILED, False),
        ("two_loops", "unspecialized", Outcome.COMPILED, True),
        ("split_k_gemm", "unspecialized", Outcome.COMPILED, False),
        ("guarded_copies", "unspecialized", Outcome.COMPILED, True),
        ("guarded_copies", "default", Outcome.COMPILED, False),
        ("last_tile_again", "unspecialized", Outcome.COMPILED, True),
    ],
)
def test_only_a_reference_that_pipelining_refuses_or_changes_is_plain(
    pool: ChildPool, kernels: Path, name: str, variant: str, kind: Outcome, plain: bool
) -> None:
    job: dict[str, Any] = {
        "ir": (kernels / name).read_text(),
        "arch": "sm_90a",
        "variant": variant,
        "schedule": None,
        "output": "",
    }
    job["profile"] = dump(load_profile("h200"))
    reply = pool.run("compile.cuda", {**job, "source_only": True}, Limits(wall_seconds=120))
    assert isinstance(reply, Returned)
    built = from_document(reply.value)
    assert (built.outcome.kind, "unpipelined" in built.outcome.details) == (kind, plain)
