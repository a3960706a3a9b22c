"""A failed register allocation (C7600) is tried once more with the next lower limit, where that cannot make a kernel hang."""

from collections.abc import Callable
from pathlib import Path

import pytest

from warpwright.lowering.compile.build import BuildResult, build
from warpwright.lowering.compile.readback import read_back
from warpwright.lowering.compile.register_cap import Retry, build_with_retry, lower_cap
from warpwright.lowering.compile.toolchain import CudaToolchain
from warpwright.lowering.outcome import StepOutcome
from warpwright.lowering.testing import toolchain as stand_in
from warpwright.solver.domain import Outcome

PLAIN = 'extern "C" __global__ void __launch_bounds__(256, 1) k(float* a) {}\n'


def asking(consumer: int, load: int) -> str:
    """A kernel whose two warpgroups request these registers."""
    requests = (
        f"if (((int)threadIdx.x) < 128) {{ tl::warpgroup_reg_alloc<{consumer}>(); }}",
        f"else {{ tl::warpgroup_reg_dealloc<{load}>(); }}",
    )
    return PLAIN.replace("{}", f"{{ {' '.join(requests)} }}")


class Compiler:
    """A stand-in nvcc that fails with C7600 unless its source is limited to what cures it; keeps the sources."""

    def __init__(self, folder: Path, cured_by: str = "", log: str = "C7600") -> None:
        nvcc = stand_in.write(folder / "bin", log=log, cured_by=cured_by)
        self.tools = CudaToolchain(nvcc, (folder / "a" / "b" / "include",), None)
        self.folder = folder
        self.sources: list[str] = []

    def __call__(self, source: str) -> BuildResult:
        self.sources.append(source)
        return build(source, "sm_90a", self.tools, self.folder / "out")


@pytest.fixture
def compiler(tmp_path: Path) -> Callable[..., Compiler]:
    return lambda *arguments, **keywords: Compiler(tmp_path, *arguments, **keywords)


def test_the_next_lower_limit_is_a_multiple_of_what_a_warp_is_given() -> None:
    def failure(count: int, *words: str) -> StepOutcome:
        return StepOutcome(Outcome.COMPILE_FAILED, f"allocation failed with register count of '{count}'", words)

    caps = [lower_cap(failure(count, "register_allocation_failed")) for count in (255, 249, 248, 168, 8)]
    assert caps == [248, 248, 240, 160, None]
    assert lower_cap(failure(255, "spills")) is None
    assert lower_cap(None) is None


def test_a_lower_limit_cures_and_both_builds_are_kept(compiler: Callable[..., Compiler]) -> None:
    nvcc = compiler("__maxnreg__(248)")
    built, retry = build_with_retry(PLAIN, nvcc, read_back(PLAIN), 256)
    assert built.failure is None
    assert built.binary is not None
    assert retry is not None
    assert (retry.registers, "(C7600)" in retry.because) == (248, True)
    assert nvcc.sources == [PLAIN, PLAIN.replace("__launch_bounds__(256, 1)", "__maxnreg__(248)")]


def test_one_retry_and_no_more(compiler: Callable[..., Compiler]) -> None:
    nvcc = compiler("__maxnreg__(240)")
    built, retry = build_with_retry(PLAIN, nvcc, read_back(PLAIN), 256)
    assert len(nvcc.sources) == 2
    assert built.failure is not None
    assert built.failure.kind is Outcome.COMPILE_FAILED
    assert "register_allocation_failed" in built.failure.details
    assert "second attempt with 248 registers per thread" in built.failure.message
    assert isinstance(retry, Retry)


@pytest.mark.parametrize(
    ("source", "tries"),
    [(asking(240, 24), 2), (asking(240, 256), 2), (asking(248, 256), 1)],
    ids=["fits", "just fits", "hangs"],
)
def test_roles_that_would_wait_for_registers_for_ever_are_not_built(
    compiler: Callable[..., Compiler], source: str, tries: int
) -> None:
    nvcc = compiler("__maxnreg__(248)")
    built, _ = build_with_retry(source, nvcc, read_back(source), 256)
    assert len(nvcc.sources) == tries
    assert (built.failure is None) == (tries == 2)


@pytest.mark.parametrize("log", ["C7602", "host_error", "static_shared"])
def test_other_failures_are_not_tried_again(compiler: Callable[..., Compiler], log: str) -> None:
    nvcc = compiler("__maxnreg__", log=log)
    _, retry = build_with_retry(PLAIN, nvcc, read_back(PLAIN), 256)
    assert (len(nvcc.sources), retry) == (1, None)


def test_a_build_that_succeeds_is_built_once(compiler: Callable[..., Compiler]) -> None:
    nvcc = compiler(log="clean")
    built, retry = build_with_retry(PLAIN, nvcc, read_back(PLAIN), 256)
    assert (len(nvcc.sources), built.failure, retry) == (1, None, None)
