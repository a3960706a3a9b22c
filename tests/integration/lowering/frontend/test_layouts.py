"""Annotated layouts survive the IR's JSON form: what is compiled of a document is what TileLang makes of the kernel itself."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from warpwright.solver.domain import KernelGraph

CHILD = Path(__file__).with_name("layouts_child.py")
ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    results = tmp_path_factory.mktemp("layouts") / "results.json"
    command = [sys.executable, str(CHILD), str(results)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT, env=environment)
    assert run.returncode == 0, run.stderr[-4000:]
    found: dict[str, list[str]] = json.loads(results.read_text())
    return found


@pytest.mark.parametrize("kind", ["shared", "fragment", "replicated"])
def test_a_layout_that_went_through_json_compiles_to_the_same_text(kind: str, sources: dict[str, list[str]]) -> None:
    """TileLang compares index placeholders by identity: reloaded as they were, no layout was a function of its indices."""
    direct, reloaded = sources[kind]
    assert "__global__" in direct
    assert reloaded == direct


def test_widths_at_which_the_compiler_finds_no_layouts_are_known_when_a_kernel_is_read(
    read_graph: Callable[[str], KernelGraph],
) -> None:
    """Issue 14, point 11: four warpgroups divide the columns of the scores, whose rows the second product takes."""
    graph = read_graph("example_attention_0")
    assert {op.gemm.m for op in graph.ops if op.gemm is not None} == {128}
    assert [width.warpgroups for width in graph.refused_widths] == [4]
    assert "Layout infer conflict" in graph.refused_widths[0].reason
    assert read_graph("example_gemm_0").refused_widths == ()
