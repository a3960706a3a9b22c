"""The stand-in's tasks: each step of the stand-in toolchain in a child, its values as JSON and its products as files.

The children really sleep, hang and crash, so that their supervisor is tested, not the stand-in's own time limits.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from warpwright.lowering.compile.result import to_document
from warpwright.lowering.testing.device import MAGIC, simulated_kernel
from warpwright.solver.domain import (
    CandidateKind,
    HardwareProfile,
    KernelGraph,
    Pins,
    Schedule,
    Verdict,
    digest_bytes,
    dump,
    load,
)
from warpwright.tuning.request import TuneBudget, TuneRequest, Variant
from warpwright.tuning.testing.toolchain import StandInToolchain
from warpwright.tuning.toolchain import KernelRead, Patience, Solving, StepFailed

__all__ = ["compile_one", "copy", "explain", "materialize", "propose", "read", "solve", "step"]

log = logging.getLogger(__name__)

PATIENCE = 7200.0
"""Seconds; longer than any child may live."""


def step(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.step``: takes the given time and reports it, asleep or, if asked, busy; writes a file into the output
    folder if there is one, at once if asked.
    """
    if payload.get("output") and payload.get("early"):
        Path(payload["output"], "early.txt").write_text("before\n")
    until = time.monotonic() + float(payload["seconds"])
    while payload.get("busy") and time.monotonic() < until:
        pass
    time.sleep(max(0.0, until - time.monotonic()))
    if payload.get("output"):
        Path(payload["output"], "step.txt").write_text("done\n")
    return {"seconds": payload["seconds"]}


def copy(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.copy``: its inputs, in a folder of its output."""
    inputs, copies = Path(payload["input"]), Path(payload["output"], "copies")
    copies.mkdir()
    names = sorted(file.name for file in inputs.iterdir())
    for name in names:
        (copies / name).write_bytes((inputs / name).read_bytes())
    return {"copied": names}


def read(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.read``."""
    kernel = StandInToolchain().read(payload["ir"], _profile(payload), _patience())
    return {"graph": dump(kernel.graph), "ir_hash": kernel.ir_hash}


def propose(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.propose``: as ``propose.warp``, from the IR of every variant."""
    profile = _profile(payload)
    numbers = sorted(int(number) for number in payload["variants"])
    variants = tuple(Variant(*payload["variants"].get(str(n), ("{}",))) for n in range(numbers[-1] + 1))
    request = TuneRequest("", variants, profile, budget=TuneBudget(candidates=int(payload["count"])))
    kernels = {n: StandInToolchain().read(variants[n].ir, profile, _patience()) for n in numbers}
    proposals = StandInToolchain().propose(kernels, request, _patience())
    return {"proposals": dump(proposals)}


def solve(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.solve``."""
    kernel = KernelRead(load(KernelGraph, payload["graph"]), "")
    verdict: Verdict = StandInToolchain().solve(kernel, _profile(payload), Pins(), Solving(), _patience())
    return {"verdict": dump(verdict)}


def explain(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.explain``."""
    kernel = KernelRead(load(KernelGraph, payload["graph"]), "")
    found = StandInToolchain().explain(kernel, _profile(payload), Pins(), payload["why"], _patience())
    return {"explanation": dict(found)}


def materialize(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.materialize``."""
    written = StandInToolchain().materialize(
        payload["ir"], load(Schedule, payload["schedule"]), _profile(payload), _patience()
    )
    return {"ir": written.ir, "source": written.products["tilelang_source"].decode()}


def compile_one(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``stand_in.compile``: the report is a compiled kernel's, the binary one for the simulated device."""
    recipe = json.loads(payload["ir"])["stand_in"]
    kind, schedule = CandidateKind(payload["kind"]), payload["schedule"]
    number = load(Schedule, schedule).num_warps - 4 if schedule else -1
    log.info("compiles %s", kind.value)
    fault = recipe["faults"].get(str(number))
    if fault == "crashed":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "orphan":
        # As a compiler driver whose own child outlives it; the salt in its command line tells whose it is.
        sleeper = "import os, time; os.setsid(); time.sleep(3600)"
        subprocess.Popen([sys.executable, "-c", sleeper, recipe["salt"]])
        time.sleep(PATIENCE)
    try:
        built = StandInToolchain().compile(
            payload["ir"], kind, load(Schedule, schedule) if schedule else None, _profile(payload), _patience()
        )
    except StepFailed as error:
        return {"failed": {"outcome": error.outcome.value, **asdict(error.failure)}}
    factor = 0.8 + 0.01 * number if number >= 0 else 1.0
    source = built.products["cuda_source"].decode() if built.products else ""
    script = {"ns": 100_000.0 * recipe["better"] * factor, "load_seconds": recipe["seconds"], "of": source}
    if number in recipe.get("wrong", ()):
        script["wrong"] = "value"
    script |= recipe.get("on_device", {}).get(str(number) if number >= 0 else kind.value, {})
    binary = MAGIC + json.dumps(script, sort_keys=True).encode()
    if built.products:
        Path(payload["output"], "cuda_source").write_bytes(built.products["cuda_source"])
        Path(payload["output"], "binary").write_bytes(binary)
    kernel = {**to_document(simulated_kernel(recipe["name"])), "variant": kind.value}
    report = {**kernel, "binary": None, "binary_digest": digest_bytes(binary), **built.report}
    return {"report": report, "not_honoured": list(built.not_honoured)}


def _profile(payload: dict[str, Any]) -> HardwareProfile:
    profile: HardwareProfile = load(HardwareProfile, payload["profile"])
    return profile


def _patience() -> Patience:
    return Patience.alone(PATIENCE)
