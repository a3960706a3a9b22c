"""A program with ``@warpwright.tuned``, run as a child process by the test beside it: it needs TileLang in its process.

Prints one JSON object. The compiler's default is replaced by a marker, so that only the scheduled kernel is really lowered, and
the device compiler by a stand-in: no code runs here, and what it makes of our sources is tested where binaries are made.
"""

import json
import logging
import runpy
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tilelang
import tvm_ffi
from tilelang import tvm
from tilelang.jit import JITImpl

from warpwright import tuned
from warpwright.jit import KnownChoice
from warpwright.jit.kernel import TunedKernel
from warpwright.solver.domain import HardwareProfile, WarpSchedule, loads

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
from gemm import kernel as gemm  # type: ignore[import-not-found]  # found through the line above

KERNELS = Path(__file__).resolve().parents[1] / "lowering" / "kernels"
SIZES = {"M": 512, "N": 512, "K": 512}


class Fixed:
    """A source that knows what it is told, or fails."""

    def __init__(self, choice: KnownChoice | None = None, error: Exception | None = None) -> None:
        self.choice, self.error, self.improved = choice, error, 0

    def find(self, variants: Sequence[str], profile: HardwareProfile) -> KnownChoice | None:
        if self.error is not None:
            raise self.error
        return self.choice

    def improve(self, name: str, variants: Sequence[str], profile: HardwareProfile) -> None:
        self.improved += 1


def autotuned(size: int, BM: int, BN: int) -> Any:
    """Its tunable parameters have no defaults: TileLang's autotuner gives them."""
    return gemm(M=size, N=size, K=size, BM=BM, BN=BN)


AUTOTUNED = tilelang.autotune(configs=[{"BM": 128, "BN": 256}, {"BM": 128, "BN": 128}])(tilelang.jit(autotuned))
COMPILE = JITImpl.compile
FAMILY = [{"BM": 128, "BN": 256}, {"BM": 128, "BN": 128}]


def no_binary(code: str, target: Any, pass_config: Any = None) -> bytearray:
    """In place of nvcc, which takes some ten seconds for each kernel."""
    return bytearray(b"never loaded")


def marked_compile(kernel: Any, *arguments: Any, **keywords: Any) -> Any:
    """TileLang's compilation, its default replaced by a marker with the parameters that it would have compiled."""
    if isinstance(kernel, TunedKernel):
        return " ".join(["default", *(f"{name}={value}" for name, value in keywords.items() if name not in SIZES)])
    return COMPILE(kernel, *arguments, **keywords)


def marked(source: Fixed, **options: Any) -> Any:
    """The kernel under ``@tuned``."""
    return tuned(gemm, profile="h200", source=source, **options)(**SIZES)


def lowered(function: Any, known: KnownChoice | None) -> str:
    """The code of the kernel that ``@tuned`` gives to TileLang; "default" for the user's own."""
    kernel: Any = tuned(function, profile="h200", source=Fixed(known))
    given = kernel._ready((), {})
    if given is None:
        return "default"
    target = tvm.target.Target(given.target)
    with tvm.transform.PassContext(opt_level=3, config=given.pass_configs or {}), target:
        return str(tilelang.lower(given.get_tir(), target=target).kernel_source)


def own_choices() -> dict[str, Any]:
    """The compiler's own choices, known or fallen back to, of kernels for which a rule refuses them as they are."""
    rows, greedy = (runpy.run_path(str(KERNELS / f"{name}.py"))["kernel"] for name in ("read_by_threads", "two_blocks"))
    return {
        "repaired": [lowered(rows, None), lowered(rows, KnownChoice("role_based", None, "test"))],
        "refused": [lowered(greedy, None), lowered(greedy, KnownChoice("default", None, "test"))],
    }


def outputs(schedule: WarpSchedule) -> dict[str, Any]:
    """TileLang's own arguments and ways to a kernel, with and without a schedule."""
    known = Fixed(KnownChoice("scheduled", schedule, "test"))
    plain = tilelang.jit(out_idx=[-1], debug_root_path=str(Path.cwd() / "debug"))(gemm)
    kernel = tuned(plain, profile="h200", source=known, pass_configs={"tl.enable_fast_math": True})
    (listed,) = kernel.par_compile([SIZES])
    family = tuned(gemm, profile="h200", source=Fixed(KnownChoice("default", None, "test", variant=1)), variants=FAMILY)
    return {
        "out_idx": kernel(**SIZES).out_idx,
        "listed": listed.get_kernel_source(),
        "debug": sorted(path.name for path in Path("debug").iterdir()),
        "untouched": plain.target is None and plain.pass_configs is None,
        "signature": str(kernel.signature) == str(plain.signature),
        "family": [
            family(**SIZES),
            family(**SIZES, BM=192),
            tuned(gemm, profile="h200", source=Fixed(), variants=FAMILY)(**SIZES),
            tuned(AUTOTUNED, profile="h200", source=Fixed(KnownChoice("default", None, "test", variant=1)))(512),
        ],
        "illegal": marked(Fixed(KnownChoice("scheduled", deep(schedule), "test"))),
    }


def deep(schedule: WarpSchedule) -> WarpSchedule:
    """A schedule that no device of the profile can hold."""
    return replace(schedule, pipelines=tuple(replace(pipeline, depth=64) for pipeline in schedule.pipelines))


def main(schedule_path: str) -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    schedule = loads(WarpSchedule, Path(schedule_path).read_text())
    JITImpl.compile = marked_compile
    tvm_ffi.register_global_func("tilelang_callback_cuda_compile", no_binary, override=True)
    wrong = WarpSchedule(schedule.num_warps, schedule.roles, schedule.pipelines, schedule.scopes[:1])
    asleep = Fixed()
    answer = {
        "unknown": marked(Fixed()),
        "away": marked(Fixed(error=ConnectionError("server away"))),
        "baseline": marked(Fixed(KnownChoice("default", None, "test"))),
        "wrong": marked(Fixed(KnownChoice("scheduled", wrong, "test"))),
        "background": marked(asleep, tune="background"),
    }
    deadline = time.monotonic() + 240.0
    while not asleep.improved and time.monotonic() < deadline:
        time.sleep(0.01)
    flushed = tuned(profile="h200", source=asleep, build_options=["flush_denormals"])(gemm)
    built = tuned(profile="h200", source=Fixed(KnownChoice("scheduled", schedule, "test")))(gemm)(**SIZES)
    answer |= {
        "improved": asleep.improved,
        "source": built.get_kernel_source(),
        "configs": flushed.pass_configs,
        **outputs(schedule),
        **own_choices(),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
