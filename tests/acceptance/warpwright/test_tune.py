"""The whole way with the real TileLang and nvcc: a kernel file in, candidates, proof, report and source out. No GPU is needed."""

import json
from pathlib import Path
from typing import Any

import pytest

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.main import main
from warpwright.kernel_file import read_kernel_file

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SIZES = ("--set", "M=512", "--set", "N=512", "--set", "K=512")

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One variant of the example, so that four builds are enough: ours and the compiler's three."""
    file = tmp_path_factory.mktemp("kernel") / "one.py"
    file.write_text(f"import sys\n\nsys.path.insert(0, {str(EXAMPLES)!r})\nfrom gemm import kernel  # noqa: F401\n")
    return file


def tune(kernel: Path, *more: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["tune", str(kernel), "-p", "h200", *SIZES, "-n", "1", "--no-measure", "--budget", "800", *more])
    return int(left.value.code or 0)


def test_a_kernel_file_becomes_a_report_a_source_and_a_proof(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WARPWRIGHT_DATA", str(tmp_path / "data"))
    out = tmp_path / "out"
    assert tune(kernel, "--out", str(out)) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "compiled, not measured" in shown
    result: dict[str, Any] = json.loads((out / "result.json").read_text())
    kinds = {entry["kind"]: entry for entry in result["candidates"]}
    assert set(kinds) == {"scheduled", "default", "role_based", "unspecialized"}
    assert {entry["outcome"] for entry in kinds.values()} == {"compiled"}
    ours = kinds["scheduled"]
    # At this small size the forecasts tie, and the compiler's own choice stands first among equals.
    assert "proof: II" in shown or ours["id"] in result["tied"]
    assert ours["certificate"]["verified"]
    assert ours["not_honoured"] == []
    assert ours["report"]["launch"]["block_threads"] == 32 * ours["schedule"]["num_warps"]
    assert ours["measured_ns"] is None
    page = (out / "report.html").read_text()
    assert '<svg class="timeline"' in page or result["best"] != ours["id"]
    source = next((out / "candidates").glob(f"{ours['id'][:16]}/kernel.py"))
    assert "T.WSSchedule" in source.read_text()
    assert read_kernel_file(source).name == "gemm_bias_relu"

    assert tune(kernel, "--json") == ExitCode.OK
    again = json.loads(capsys.readouterr().out)
    assert (again["job"], again["best"]) == (result["job"], result["best"])
