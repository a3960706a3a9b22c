"""Tasks of the compile step. Run in children: TileLang is imported when this module is."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from warpwright.lowering.compile import honour, ptxas
from warpwright.lowering.compile.build import BuildResult, build
from warpwright.lowering.compile.carried_values import carried_value
from warpwright.lowering.compile.launchable import over_resource
from warpwright.lowering.compile.lower import PASS_CONFIGS, Lowered, arguments, lower, read_ir
from warpwright.lowering.compile.lowering_error import reason_of
from warpwright.lowering.compile.options import build_options, compiler_flags
from warpwright.lowering.compile.readback import ReadBack, read_back
from warpwright.lowering.compile.register_cap import CAPPED, build_with_retry
from warpwright.lowering.compile.register_pool import held_registers, over_pool
from warpwright.lowering.compile.result import CompiledKernel, Launch, NotHonoured, to_document
from warpwright.lowering.compile.sass import SassReport, disassemble, find_cuobjdump
from warpwright.lowering.compile.toolchain import CudaToolchain, ToolchainMissing, find_cuda, versions
from warpwright.lowering.frontend.settings_attributes import settings_of
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import CandidateKind, Outcome
from warpwright.solver.domain.documents import load
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.solver.domain.identity import digest_text
from warpwright.solver.domain.kernel import TargetFamily
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import WarpSchedule

__all__ = ["compile_cuda"]


def compile_cuda(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``compile.cuda``: IR to a CompiledKernel document.

    Keys: ``ir``; ``arch``; ``variant``; ``schedule`` (warp-schedule document, or null for a baseline); ``output`` (folder for
    binaries); optional ``profile`` (document, for resource limits), ``nvcc`` (path), ``source_only``,
    ``options`` (names of build options, ``warpwright.lowering.compile.options``).
    A kernel that cannot be built is a result, not an error: ``outcome`` then gives the reason.
    """
    variant = CandidateKind(payload["variant"])
    arch = str(payload["arch"])
    seconds: dict[str, float] = {}
    function = read_ir(payload["ir"])
    author = settings_of(function)
    asked = (*(payload.get("options") or ()), *author.build_options)
    options = build_options(asked, TargetFamily.CUDA, "/options")
    toolchain, missing = _toolchain(payload, (*compiler_flags(options), *author.followed(default=True).compiler_flags))
    names = versions(toolchain.nvcc) if toolchain else {"nvcc": "none"}

    def finish(outcome: StepOutcome, **parts: Any) -> dict[str, Any]:
        shared: dict[str, Any] = {
            "toolchain": names,
            "seconds": seconds,
            "options": options,
            "settings_ignored": ignored,
        }
        return to_document(CompiledKernel(variant, arch, outcome, **shared, **parts))

    own = PASS_CONFIGS[variant]
    ignored = tuple(name for name in author.ignored(default=variant is CandidateKind.DEFAULT) if name not in own)
    begun = time.monotonic()
    parameters = arguments(function)
    profile = load(HardwareProfile, payload["profile"]) if payload.get("profile") else None
    seconds["load"] = time.monotonic() - begun
    begun = time.monotonic()
    try:
        is_reference = variant is CandidateKind.UNSPECIALIZED
        plain = is_reference and profile is not None and bool(carried_value(function, profile))
        lowered = lower(function, arch, variant, plain_reference=plain)
    except WarpwrightError:
        raise
    except Exception as error:  # noqa: BLE001 - TileLang refuses a schedule with many error types; they all mean the same
        seconds["lower"] = time.monotonic() - begun
        return finish(StepOutcome(Outcome.COMPILE_FAILED, reason_of(error), ("lowering_failed",)))
    seconds["lower"] = time.monotonic() - begun
    found = read_back(lowered.source)
    parts: dict[str, Any] = {
        "source": lowered.source,
        "source_digest": digest_text(lowered.source),
        "launcher_digest": digest_text(lowered.launcher),
        "arguments": parameters,
        "fences_added": lowered.fences_added,
    }
    plan = load(WarpSchedule, payload["schedule"]) if payload.get("schedule") else None
    launch = _launch(lowered, found, 0)
    if profile is not None and (over := over_resource(launch, 0, profile)) is not None:
        # The device compiler may need minutes for what no device can hold.
        return finish(over, launch=launch, **parts)
    if toolchain is None:
        gaps = honour.differences(plan, found, None) if plan else ()
        outcome = StepOutcome(Outcome.COMPILED, missing, ("source_only", *lowered.details))
        if profile is not None:
            parts["warpgroup_registers"] = held_registers(found, launch, None, profile)[0]
            outcome = over_pool(found, launch, None, None, profile) or outcome
        return finish(_verdict(outcome, gaps), launch=launch, not_honoured=gaps, **parts)
    tools, folder = toolchain, Path(payload["output"])
    built, retry = build_with_retry(
        lowered.launcher, lambda text: build(text, arch, tools, folder), found, lowered.block_threads
    )
    if retry is not None:
        parts |= {"register_cap": retry.registers, "first_failure": retry.because}
    seconds["nvcc"] = built.seconds
    begun = time.monotonic()
    cuobjdump = find_cuobjdump(toolchain.nvcc)
    sass = disassemble(built.binary, cuobjdump) if built.binary is not None and cuobjdump is not None else None
    seconds["disassemble"] = time.monotonic() - begun
    return finish(**_judge(lowered, found, built, sass, plan, profile, capped=retry is not None), **parts)


def _judge(
    lowered: Lowered,
    found: ReadBack,
    built: BuildResult,
    sass: SassReport | None,
    plan: WarpSchedule | None,
    profile: HardwareProfile | None,
    *,
    capped: bool,
) -> dict[str, Any]:
    report = built.report
    launch = _launch(lowered, found, report.static_shared_bytes if report else 0)
    parts: dict[str, Any] = {"launch": launch, "ptxas": report, "sass": sass, "reused": built.reused}
    if built.failure is not None:
        return {"outcome": built.failure, **parts}
    assert built.binary is not None
    assert report is not None
    gaps = honour.differences(plan, found, report, sass) if plan else ()
    words = (*ptxas.details(report), *((CAPPED,) if capped else ()), *lowered.details)
    outcome = StepOutcome(Outcome.COMPILED, details=words)
    if profile is not None:
        parts["warpgroup_registers"] = held_registers(found, launch, report, profile)[0]
        outcome = (
            over_resource(launch, report.registers, profile)
            or over_pool(found, launch, report, sass, profile)
            or outcome
        )
    return {
        "outcome": _verdict(outcome, gaps),
        "binary": str(built.binary),
        "binary_digest": built.digest,
        "binary_bytes": built.binary.stat().st_size,
        "not_honoured": gaps,
        **parts,
    }


def _verdict(outcome: StepOutcome, gaps: tuple[NotHonoured, ...]) -> StepOutcome:
    if outcome.kind is not Outcome.COMPILED or not gaps:
        return outcome
    text = "; ".join(f"{gap.what}: planned {gap.planned}, found {gap.found}" for gap in gaps)
    return StepOutcome(Outcome.NOT_HONOURED, text, outcome.details)


def _launch(lowered: Lowered, found: ReadBack, static_bytes: int) -> Launch:
    return Launch(
        kernel=lowered.kernel,
        grid=lowered.grid,
        block_threads=lowered.block_threads,
        min_blocks_per_sm=found.min_blocks or 0,
        dynamic_shared_bytes=lowered.dynamic_shared_bytes,
        static_shared_bytes=static_bytes,
    )


def _toolchain(payload: dict[str, Any], flags: tuple[str, ...]) -> tuple[CudaToolchain | None, str]:
    if payload.get("source_only"):
        return None, "source only, as requested"
    try:
        return replace(find_cuda(payload.get("nvcc")), extra=flags), ""
    except ToolchainMissing as error:
        return None, error.message
