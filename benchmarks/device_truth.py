"""What compiled kernels use of a device: ``python -m benchmarks.device_truth IR_FOLDER > tests/golden/device/compiled.jsonl``.

``IR_FOLDER`` has kernels as the corpus builds them (``python tests/integration/lowering/frontend/build_corpus.py IR_FOLDER``).
Each is solved for an H200, lowered by TileLang and compiled, and one JSON line per schedule says what was read back:
dynamic shared memory (``dyn_shared_memory_buf``), static shared memory (ptxas) and the least register budget of the
consumer, a multiple of 8, with which ptxas neither spills nor serialises (null where even the largest budget does,
or where nothing is reallocated). The device model is tested against these lines. Imports TileLang: a process of its own.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from warpwright.lowering.compile.lower import Lowered, lower, read_ir
from warpwright.lowering.compile.ptxas import parse
from warpwright.lowering.compile.result import PtxasReport
from warpwright.lowering.compile.toolchain import find_cuda
from warpwright.lowering.frontend.tasks import read
from warpwright.lowering.materialize.tasks import warp
from warpwright.solver.domain import CandidateKind, KernelGraph, OpKind, Pins, WarpSchedule, WarpwrightError, dump, load
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import CONSUMER, close_problem
from warpwright.solver.warp.solve import solve

PROFILE = load_profile("h200")
REALLOCATION = "setmaxnreg.inc.sync.aligned.u32"
SMALLEST, STEP = 24, 8
SLOW = ("C7507", "C7508", "C7510", "C7511", "C7512")
"""Messages of requests that were ignored and of products that were serialised."""


def schedules(graph: KernelGraph) -> Iterator[tuple[Pins, WarpSchedule]]:
    """The kernel's own schedule, and those of other widths where a reduction may span more warps in them."""
    reduces = any(op.kind is OpKind.REDUCE for op in graph.ops)
    choices = [Pins(), *(Pins(consumer_warpgroups=n) for n in (1, 2) if reduces)]
    seen = []
    for pins in choices:
        found = getattr(solve(close_problem(graph, PROFILE, pins)), "schedule", None)
        if isinstance(found, WarpSchedule) and found not in seen:
            seen.append(found)
            yield pins, found


def ptx_of(source: str, folder: Path) -> str:
    """The source as PTX, with the flags of a build."""
    tools = find_cuda()
    (folder / "kernel.cu").write_text(source)
    flags = ("-std=c++20", "-O3", "-w", "-arch=sm_90a", "-ptx", *(f"-I{path}" for path in tools.includes))
    command = [str(tools.nvcc), *flags, "-o", str(folder / "kernel.ptx"), str(folder / "kernel.cu")]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    return (folder / "kernel.ptx").read_text()


def assembled(ptx: str, folder: Path) -> PtxasReport | None:
    """What ptxas reports for a kernel; None when it refuses it."""
    (folder / "tried.ptx").write_text(ptx)
    command = [str(find_cuda().nvcc.with_name("ptxas")), "-arch=sm_90a", "-v", "-o", "/dev/null", "tried.ptx"]
    run = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=600)
    return parse(run.stdout + run.stderr) if run.returncode == 0 else None


def least_budget(ptx: str, budget: int, folder: Path) -> int | None:
    """The least budget of the consumer without spills and serialised products, by bisection below its own budget."""

    def holds(registers: int) -> bool:
        changed = re.sub(rf"({re.escape(REALLOCATION)}\s+){budget}\b", rf"\g<1>{registers}", ptx)
        report = assembled(changed, folder)
        slow = report is None or any(message.code in SLOW for message in report.messages)
        return report is not None and not slow and not report.spill_store_bytes

    if not re.search(rf"{re.escape(REALLOCATION)}\s+{budget}\b", ptx) or not holds(budget):
        return None
    low, high = SMALLEST // STEP - 1, budget // STEP
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(STEP * middle) else (middle, high)
    return STEP * high


def record(name: str, ir: str, graph: KernelGraph, pins: Pins, schedule: WarpSchedule) -> dict[str, object]:
    """One line of the record. Dependences and source text are left out: no byte or register follows from them."""
    made: Lowered = lower(
        read_ir(warp({"ir": ir, "schedule": dump(schedule)})["ir"]), "sm_90a", CandidateKind.SCHEDULED
    )
    plain = replace(graph, ops=tuple(replace(op, text="") for op in graph.ops), dependences=())
    with tempfile.TemporaryDirectory() as folder:
        ptx = ptx_of(made.source, Path(folder))
        report = assembled(ptx, Path(folder))
        budget = next((r.registers_per_thread for r in schedule.roles if r.name == CONSUMER), 0)
        return {
            "kernel": name,
            "pins": {"consumer_warpgroups": pins.consumer_warpgroups},
            "dynamic_bytes": made.dynamic_shared_bytes,
            "static_bytes": report.static_shared_bytes if report else None,
            "least_registers": least_budget(ptx, budget, Path(folder)) if budget else None,
            "graph": dump(plain),
            "schedule": dump(schedule),
        }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="kernels as IR, one JSON file each")
    parser.add_argument("--kernels", nargs="*", help="names of some of them")
    arguments = parser.parse_args()
    for path in sorted(arguments.folder.glob("*.json")):
        if arguments.kernels and path.stem not in arguments.kernels:
            continue
        ir = path.read_text()
        try:
            graph = load(KernelGraph, read({"ir": ir, "profile": dump(PROFILE)})["graph"])
        except WarpwrightError as error:
            print(f"{path.stem}: {error.code}", file=sys.stderr)
            continue
        for pins, schedule in schedules(graph):
            try:
                line = record(path.stem, ir, graph, pins, schedule)
            except Exception as error:  # noqa: BLE001 - TileLang refuses by many types; a kernel that does not lower has no line
                print(f"{path.stem}: {str(error).splitlines()[-1][:150]}", file=sys.stderr)
                continue
            print(json.dumps(line, separators=(",", ":"), sort_keys=True), flush=True)


if __name__ == "__main__":
    main()
