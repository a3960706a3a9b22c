"""Measures a landscape: one problem under many explicit schedules and TileLang's own choices, on the GPU of this machine.

``python -m benchmarks.landscape gemm 4096 4096 4096 --out DIR`` or ``... attention 4 16 4096 128 --out DIR`` writes
``DIR/<name>.json`` in the form that ``python -m benchmarks.ranking`` reads: a list of ``{"spec": {"kind", "a"}, "ms", "tf",
"relerr"}`` with library rows (``"spec": "torch"``) first. Kinds: ``ws`` explicit schedule, ``role`` TileLang's role_based,
``plain`` its default, ``nows`` specialisation off.

Builds run in parallel processes. One child measures; a watchdog replaces it when a kernel does not return. Each entry is
timed in every round (all entries, then all entries again), so that clock drift affects all equally; the figure is the median of
the rounds' medians. Times are CUDA events around single launches without an L2 flush, as in the first landscapes.
"""

import argparse
import json
import multiprocessing
import os
import platform
import queue
import statistics
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

BUDGETS = {1: [(40, 240)], 2: [(24, 240), (40, 232), (56, 224), (0, 0)], 3: [(24, 160), (32, 160), (0, 0)]}
"""Register pairs (load, consumer) by consumer warpgroups; (0, 0) leaves the registers alone."""

SHARED_LIMIT_BYTES = 232448 - 1024
ENTRY_LIMIT_SECONDS = 40.0
PASS_CONFIGS = {
    "ws": {},
    "plain": {},
    "role": {"tl.enable_auto_warp_specialization": "role_based"},
    "nows": {"tl.disable_warp_specialized": True},
}


def gemm_specs(size: list[int]) -> list[dict[str, Any]]:
    """The grid for GEMM ``[M, N, K]``."""
    tiles = [
        (128, 256, 64, 2),
        (256, 128, 64, 2),
        (128, 128, 64, 2),
        (128, 128, 128, 2),
        (192, 192, 64, 3),
        (192, 128, 64, 3),
        (64, 256, 64, 1),
        (128, 192, 64, 2),
        (256, 192, 64, 2),
    ]
    specs = []
    for bm, bn, bk, warpgroups in tiles:
        for depth in (2, 3, 4, 5, 6):
            if depth * (bm + bn) * bk * 2 + bm * bn * 2 > SHARED_LIMIT_BYTES:
                continue
            pairs = BUDGETS[warpgroups] if (bm, bn) in ((128, 256), (192, 192)) else BUDGETS[warpgroups][1:2]
            for pair in pairs or BUDGETS[warpgroups]:
                specs.append({"kind": "ws", "a": [*size, bm, bn, bk, depth, warpgroups, *pair]})
            if (bm, bn) in ((128, 256), (256, 128), (128, 128), (192, 192)):
                specs += [{"kind": k, "a": [*size, bm, bn, bk, depth, warpgroups]} for k in ("plain", "role", "nows")]
    return specs


def attention_specs(size: list[int]) -> list[dict[str, Any]]:
    """The grid for attention ``[B, H, S, D]``."""
    dim = size[3]
    specs = []
    for bm, bn, warpgroups in [
        (128, 128, 2),
        (128, 64, 2),
        (128, 256, 2),
        (192, 128, 3),
        (192, 64, 3),
        (64, 128, 1),
        (256, 64, 2),
    ]:
        for depth in (1, 2, 3):
            if 2 * dim * (2 * bm + 2 * depth * bn) > SHARED_LIMIT_BYTES:
                continue
            for pair in BUDGETS[warpgroups] if bn == 128 else BUDGETS[warpgroups][:1]:
                specs.append({"kind": "ws", "a": [*size, bm, bn, depth, warpgroups, *pair]})
            if bn <= 128 and bm <= 192:
                specs += [{"kind": k, "a": [*size, bm, bn, depth, warpgroups, 0, 0]} for k in ("plain", "role", "nows")]
    return specs


def compiled(name: str, spec: dict[str, Any]) -> Any:
    """The TileLang kernel of one entry, from TileLang's cache when it was built before. Imports TileLang."""
    import tilelang
    from tilelang import tvm

    from benchmarks.kernels import attention, gemm

    kernels: Any = gemm if name == "gemm" else attention
    arguments = spec["a"]
    if spec["kind"] == "ws":
        function = kernels.scheduled(*arguments)
    else:
        function = kernels.plain(*arguments[:8])
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    with target:
        return tilelang.compile(
            function,
            out_idx=[-1],
            target=target,
            execution_backend="tvm_ffi",
            pass_configs=PASS_CONFIGS[spec["kind"]],
        )


def build(job: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Builds one entry; the error text when it fails."""
    name, spec = job
    started = time.monotonic()
    try:
        compiled(name, spec)
    except Exception as error:  # noqa: BLE001 - one entry's failure is data
        return {"spec": spec, "err": repr(error)[-400:]}
    return {"spec": spec, "build_seconds": time.monotonic() - started}


def inputs(name: str, size: list[int]) -> tuple[list[Any], Any, float]:
    """Random inputs, the reference output and the floating-point operations of one problem. Imports torch."""
    import torch

    torch.manual_seed(0)
    if name == "gemm":
        m, n, k = size
        operands = [
            torch.randn(m, k, device="cuda", dtype=torch.bfloat16),
            torch.randn(n, k, device="cuda", dtype=torch.bfloat16),
        ]
        return operands, operands[0] @ operands[1].T, 2.0 * m * n * k
    b, h, s, d = size
    operands = [torch.randn(b, h, s, d, device="cuda", dtype=torch.bfloat16) for _ in range(3)]
    return operands, torch.nn.functional.scaled_dot_product_attention(*operands), 4.0 * b * h * s * s * d


def median_ms(call: Any, runs: int = 20) -> float:
    """Median time of single launches in milliseconds, after three launches that do not count."""
    import torch

    for _ in range(3):
        call()
    torch.cuda.synchronize()
    times: list[float] = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def measuring_child(name: str, size: list[int], jobs: Any, results: Any) -> None:
    """Measures entries from ``jobs`` until None comes; the first result is the library rows."""
    import torch

    operands, reference, flops = inputs(name, size)
    norm = reference.float().norm()
    kernels: dict[str, Any] = {}
    results.put({"rows": library_rows(name, operands, flops)})
    while (spec := jobs.get()) is not None:
        key = json.dumps(spec)
        try:
            kernel = kernels.get(key) or compiled(name, spec)
            kernels[key] = kernel
            output = kernel(*operands)
            error = ((output.float() - reference.float()).norm() / norm).item()
            ms = median_ms(lambda kernel=kernel: kernel(*operands))
            results.put({"spec": spec, "ms": ms, "tf": flops / ms / 1e9, "relerr": error})
        except Exception as failure:  # noqa: BLE001 - one entry's failure is data
            results.put({"spec": spec, "err": repr(failure)[-300:]})
            torch.cuda.synchronize()


def library_rows(name: str, operands: list[Any], flops: float) -> list[dict[str, Any]]:
    """cuBLAS for GEMM, cuDNN and FlashAttention 2 for attention, through torch."""
    import torch

    if name == "gemm":
        calls = {"torch": lambda: torch.matmul(operands[0], operands[1].T)}
    else:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def attend(backend: Any) -> Any:
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(*operands)

        calls = {
            "cudnn": lambda: attend(SDPBackend.CUDNN_ATTENTION),
            "flash2": lambda: attend(SDPBackend.FLASH_ATTENTION),
        }
    rows = []
    for label, call in calls.items():
        ms = median_ms(call)
        rows.append({"spec": label, "ms": ms, "tf": flops / ms / 1e9})
    return rows


class Watched:
    """The measuring child with a watchdog: a child that gives no answer in time is killed and replaced."""

    def __init__(self, name: str, size: list[int]) -> None:
        self.name, self.size = name, size
        self.context = multiprocessing.get_context("spawn")
        self.rows: list[dict[str, Any]] = []
        self.start()

    def start(self) -> None:
        """Starts a fresh child and waits for its library rows."""
        self.jobs, self.results = self.context.Queue(), self.context.Queue()
        self.process = self.context.Process(
            target=measuring_child, args=(self.name, self.size, self.jobs, self.results), daemon=True
        )
        self.process.start()
        self.rows.extend(self.results.get(timeout=120)["rows"])

    def measure(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The entry's result, or ``err`` when the kernel hangs or the child dies."""
        self.jobs.put(spec)
        try:
            result: dict[str, Any] = self.results.get(timeout=ENTRY_LIMIT_SECONDS)
        except queue.Empty:
            self.process.kill()
            self.process.join()
            self.start()
            return {"spec": spec, "err": f"no answer in {ENTRY_LIMIT_SECONDS:.0f} s"}
        if "illegal" in result.get("err", "") or "CUDA" in result.get("err", ""):
            self.process.kill()
            self.process.join()
            self.start()
        return result


def device_facts() -> dict[str, Any]:
    """Device, driver, clocks, power and software versions as they are now."""
    import tilelang
    import torch

    fields = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,power.limit,temperature.gpu"
    answer = subprocess.run(
        ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    return {
        "nvidia_smi": dict(
            zip(fields.split(","), [x.strip() for x in answer.stdout.split("\n")[0].split(",")], strict=False)
        ),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "tilelang": tilelang.__version__,
        "python": platform.python_version(),
    }


def main() -> None:
    """Builds, measures, writes ``<out>/<name>.json`` after every round and ``<name>.facts.json`` at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["gemm", "attention"])
    parser.add_argument("size", type=int, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=200.0, help="no new round starts after this")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    specs = (gemm_specs if options.name == "gemm" else attention_specs)(options.size)
    workers = max(1, (os.cpu_count() or 2) - 2)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        built = list(pool.map(build, [(options.name, spec) for spec in specs]))
    failed = [entry for entry in built if "err" in entry]
    good = [entry["spec"] for entry in built if "err" not in entry]
    print(f"{len(good)} built, {len(failed)} failed, {time.monotonic() - began:.0f} s", flush=True)
    child = Watched(options.name, options.size)
    rounds: dict[str, list[dict[str, Any]]] = {}
    stem = f"{options.name}_" + "_".join(map(str, options.size))
    done = 0
    for _ in range(options.rounds):
        for spec in good:
            seen = rounds.setdefault(json.dumps(spec), [])
            if not any("err" in result for result in seen):
                seen.append(child.measure(spec))
        done += 1
        rows: list[dict[str, Any]] = [*child.rows[:2], *failed]
        for seen in rounds.values():
            errors = [result for result in seen if "err" in result]
            ms = statistics.median(result["ms"] for result in seen) if not errors else 0.0
            rows.append(errors[0] if errors else {**seen[0], "ms": ms, "tf": seen[0]["tf"] * seen[0]["ms"] / ms})
        (options.out / f"{stem}.json").write_text(json.dumps(rows, indent=1))
        print(f"round {done}: {time.monotonic() - began:.0f} s", flush=True)
        if time.monotonic() - began > options.seconds:
            break
    facts = {**device_facts(), "rounds": done, "seconds": time.monotonic() - began, "method": "events, no L2 flush"}
    (options.out / f"{stem}.facts.json").write_text(json.dumps(facts, indent=1))
    best = sorted((r for r in rows if "ms" in r), key=lambda r: float(r["ms"]))[:8]
    for row in best:
        print(
            row["spec"] if isinstance(row["spec"], str) else (row["spec"]["kind"], row["spec"]["a"]),
            round(row["ms"], 4),
            round(row.get("tf", 0)),
        )


if __name__ == "__main__":
    main()
