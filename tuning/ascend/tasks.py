"""Ascend tasks, run in child processes only; TileLang is imported inside. One JSON object in, one out.

Nothing is compiled or measured: the product is Ascend C source, and every result says so.
"""

import shutil
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warpwright.lowering.frontend.irhash import hash_document
from warpwright.lowering.frontend.precheck import LIMIT_BYTES, precheck
from warpwright.solver.domain import (
    BufferSchedule,
    Candidate,
    CandidateKind,
    Feasible,
    HardwareProfile,
    Pins,
    Proposals,
    ProvenOptimal,
    RejectedStructure,
    UndecidedStructure,
    candidate_id,
    digest_text,
    dump,
    load,
)
from warpwright.solver.domain.candidate_order import place_of
from warpwright.tuning.partial_answer import keep

if TYPE_CHECKING:
    from warpwright.tuning.ascend.kernel import Planned

__all__ = [
    "MARK",
    "compile_ascend",
    "lower_ascend",
    "materialize_ascend",
    "propose_buffer",
    "read_ascend",
    "solve_buffer",
]

MARK = "lowered, not compiled, not measured"


def read_ascend(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``frontend.read_ascend``: ``{"ir", "profile", "pins"?}`` -> ``{"graph", "ir_hash", "warnings"}``.

    Raises:
        DocumentError, ForeignCode: as the precheck.
        PinError: a pin of the source or the request with a wrong form.
        InfeasibleKernel: proven impossible, with the numbers.
    """
    function, ir_hash = _function(payload)
    from warpwright.tuning.ascend.kernel import plan_kernel

    planned = plan_kernel(function, _profile(payload), _pins(payload))
    return {"graph": dump(planned.graph), "ir_hash": ir_hash, "warnings": list(planned.warnings)}


def propose_buffer(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``propose.buffer``: the proven schedule of every variant, best first.

    Keys: ``kernels`` (list of ``variant``, ``params``, ``ir``), ``profile``, ``pins``, ``engine``, ``output``?. Returns
    ``proposals`` and ``graphs`` (each candidate's own, by its id: pins change the problem). Every variant has a quick answer
    first, then the longer searches improve those that are not settled; what there is is kept for whoever kills the task.
    """
    from warpwright.tuning.ascend.plan import InfeasibleKernel, ScheduleRefused
    from warpwright.tuning.ascend.stepwise import quick_plan, whole_plan

    profile, pins, engine = _profile(payload), _pins(payload), _engine(payload)
    found = _Found(len(payload["kernels"]))
    unsettled: list[dict[str, Any]] = []
    for step in (quick_plan, whole_plan):
        for kernel in payload["kernels"] if step is quick_plan else unsettled:
            variant = int(kernel["variant"])
            try:
                function, ir_hash = _function(kernel)
                planned = step(function, profile, pins, engine)
            except InfeasibleKernel as error:
                found.rejected[variant] = RejectedStructure(variant, {}, error.conflicts)
                continue
            except ScheduleRefused as error:
                if variant not in found.candidates:
                    found.undecided[variant] = UndecidedStructure(variant, {}, f"variant {variant}: {error.message}")
                if step is quick_plan:
                    unsettled.append(kernel)
                continue
            if step is quick_plan and not planned.settled:
                unsettled.append(kernel)
            found.undecided.pop(variant, None)
            candidate = _candidate(kernel, ir_hash, planned)
            found.candidates[variant] = candidate, dump(planned.graph)
            keep(payload, found.answer())
    return found.answer()


@dataclass(slots=True)
class _Found:
    """What is known of each variant so far."""

    variants: int
    candidates: dict[int, tuple[Candidate, dict[str, Any]]] = field(default_factory=dict)
    rejected: dict[int, RejectedStructure] = field(default_factory=dict)
    undecided: dict[int, UndecidedStructure] = field(default_factory=dict)

    def answer(self) -> dict[str, Any]:
        """The task's result as far as it is known."""
        proposals = Proposals(
            tuple(sorted((candidate for candidate, _ in self.candidates.values()), key=place_of)),
            tuple(self.rejected.values()),
            tuple(self.undecided.values()),
            infeasible=bool(self.rejected) and len(self.rejected) == self.variants,
        )
        graphs = {candidate.id: graph for candidate, graph in self.candidates.values()}
        return {"proposals": dump(proposals), "graphs": graphs}


def _candidate(kernel: dict[str, Any], ir_hash: str, planned: "Planned") -> Candidate:
    structure = {name.buffer: f"{name.versions} {name.mode.value}" for name in planned.schedule.buffers}
    return Candidate(
        id=candidate_id(ir_hash, CandidateKind.SCHEDULED, planned.schedule),
        variant=int(kernel["variant"]),
        kind=CandidateKind.SCHEDULED,
        params=kernel["params"],
        schedule=planned.schedule,
        certificate=planned.certificate,
        status="proven_optimal" if planned.proven else "feasible",
        forecast_cycles=planned.certificate.total_cycles,
        structure=structure | ({"warnings": "; ".join(planned.warnings)} if planned.warnings else {}),
    )


def solve_buffer(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``solve.buffer``: ``{"ir", "profile", "pins"?, "engine"?, "output"?}`` -> ``{"verdict"}`` in the common vocabulary.

    A quick answer first, which is kept for whoever kills the task.
    """
    from warpwright.solver.domain import Infeasible, Unknown
    from warpwright.tuning.ascend.plan import InfeasibleKernel, ScheduleRefused
    from warpwright.tuning.ascend.stepwise import quick_plan, whole_plan

    function, _ = _function(payload)
    profile, pins, engine = _profile(payload), _pins(payload), _engine(payload)
    try:
        try:
            planned = quick_plan(function, profile, pins, engine)
        except ScheduleRefused:
            planned = None
        if planned is not None and planned.settled:
            return _verdict(planned)
        if planned is not None:
            keep(payload, _verdict(planned))
        return _verdict(whole_plan(function, profile, pins, engine))
    except InfeasibleKernel as error:
        return {"verdict": dump(Infeasible(error.conflicts, engine))}
    except ScheduleRefused as error:
        return _verdict(planned) if planned is not None else {"verdict": dump(Unknown(error.message, engine, 0))}


def _verdict(planned: "Planned") -> dict[str, Any]:
    kind = ProvenOptimal if planned.proven else Feasible
    return {"verdict": dump(kind(planned.schedule, planned.certificate))}


def materialize_ascend(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``materialize.ascend``: ``{"ir", "schedule"}`` -> ``{"ir", "source"}``.

    The IR carries the versions and modes as annotations; ``source`` is the same as statements to paste into the kernel.
    Start times have no annotation: ``compile.ascend`` gives them to the scheduler hook.
    """
    function, _ = _function(payload)
    schedule: BufferSchedule = load(BufferSchedule, payload["schedule"])

    from warpwright.lowering.ascend.annotations import ir_text, storage_shapes, with_pins
    from warpwright.solver.ascend.pins import checked_pins
    from warpwright.tuning.ascend.kernel import schedule_pins

    pins = checked_pins(schedule_pins(schedule), storage_shapes(function))
    return {"ir": ir_text(with_pins(function, pins)), "source": _annotation_text(pins)}


def compile_ascend(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``compile.ascend``: a CompiledKernel document with Ascend C source, and an object if bisheng is installed.

    Keys: ``ir``, ``arch``, ``variant`` (``scheduled``, or ``default`` for TileLang's own scheduler), ``schedule``, ``profile``,
    ``output`` (folder for binaries).
    Versions are read back from the TIR and compared with the plan; a difference is ``not_honoured``.
    """
    from warpwright.lowering.ascend.honour import differences
    from warpwright.lowering.ascend.lower import LoweringFailed
    from warpwright.lowering.compile.result import CompiledKernel, Launch, NotHonoured, to_document
    from warpwright.lowering.outcome import StepOutcome
    from warpwright.solver.domain import Outcome
    from warpwright.tuning.ascend.default import tilelang_choice
    from warpwright.tuning.ascend.kernel import replay_kernel
    from warpwright.tuning.ascend.plan import InfeasibleKernel, ScheduleRefused

    function, _ = _function(payload)
    profile, arch = _profile(payload), str(payload["arch"])
    document = payload.get("schedule")
    begun = time.monotonic()
    seconds: dict[str, float] = {}
    gaps: tuple[NotHonoured, ...] = ()

    def finish(outcome: StepOutcome, **parts: Any) -> dict[str, Any]:
        seconds["lower"] = time.monotonic() - begun
        return to_document(
            CompiledKernel(
                CandidateKind(payload["variant"]), arch, outcome, toolchain=_toolchain(), seconds=seconds, **parts
            )
        )

    try:
        if document is None:
            chosen = tilelang_choice(function, profile)
            watched, cycles = chosen.watched, chosen.total_cycles
            if chosen.overflow:
                text = "; ".join(conflict.message for conflict in chosen.overflow)
                return finish(StepOutcome(Outcome.OVER_RESOURCE, text, ("memory_capacity",)), source=watched.source)
        else:
            schedule: BufferSchedule = load(BufferSchedule, document)
            planned = replay_kernel(function, profile, schedule)
            watched, gaps = planned.watched, differences(schedule, planned.watched)
            cycles = planned.certificate.total_cycles
    except (ScheduleRefused, InfeasibleKernel) as error:
        kind = Outcome.OVER_RESOURCE if error.place == "memory" else Outcome.COMPILE_FAILED
        return finish(StepOutcome(kind, error.message, (error.code,)))
    except LoweringFailed as error:
        return finish(StepOutcome(Outcome.COMPILE_FAILED, error.message, ("lowering_failed",)))
    layout = watched.layout
    assert layout is not None
    outcome = StepOutcome(Outcome.COMPILED, MARK, ("source_only",))
    if gaps:
        text = "; ".join(f"{gap.what}: planned {gap.planned}, found {gap.found}" for gap in gaps)
        outcome = StepOutcome(Outcome.NOT_HONOURED, text, ("source_only",))
    launch = Launch(layout.name, (layout.grid or 1, 1, 1), 1, 1, watched.arenas.get("shared", 0), 0)
    parts: dict[str, Any] = {}
    if payload.get("output") and watched.launcher and not payload.get("source_only"):
        built = _object(watched.launcher, arch, str(payload["output"]))
        if built is not None:
            seconds["bisheng"] = built.seconds
            outcome, parts = _built(built, outcome)
    return finish(
        outcome,
        source=watched.source,
        source_digest=digest_text(watched.source),
        launch=launch,
        arguments=_arguments(function),
        not_honoured=gaps,
        total_cycles=cycles,
        **parts,
    )


def _object(launcher: str, arch: str, output: str) -> Any:
    """The object that bisheng compiles from a launcher, None if CANN is not installed."""
    from pathlib import Path

    from warpwright.lowering.compile.bisheng import find_bisheng
    from warpwright.lowering.compile.build import build
    from warpwright.lowering.compile.toolchain import ToolchainMissing

    try:
        return build(launcher, arch, find_bisheng(), Path(output))
    except ToolchainMissing:
        return None


def _built(built: Any, outcome: Any) -> tuple[Any, dict[str, Any]]:
    """Outcome and parts of a kernel after the attempt to compile its object."""
    from dataclasses import replace

    from warpwright.solver.domain import Outcome

    if built.failure is not None:
        return built.failure, {}
    if outcome.kind is Outcome.COMPILED:
        outcome = replace(outcome, message="compiled, not measured", details=())
    digests = {"binary_digest": built.digest, "binary_bytes": built.binary.stat().st_size, "reused": built.reused}
    return outcome, {"binary": str(built.binary), **digests}


def _arguments(function: Any) -> tuple[Any, ...]:
    """The tensor parameters; none if the runner could not pass them, so that such a kernel is not measured."""
    from warpwright.lowering.compile.lower import arguments
    from warpwright.solver.domain import NotBuildable

    try:
        return arguments(function)
    except NotBuildable:
        return ()


def lower_ascend(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``lower.ascend``: IR directly to Ascend C with the solver's schedule, in one lowering if the kernel fits.

    ``{"ir", "profile", "pins"?, "engine"?}`` -> ``{"source", "schedule", "certificate", "graph", "versions", "arenas",
    "not_honoured", "warnings", "mark"}``.
    """
    from dataclasses import asdict

    from warpwright.lowering.ascend.honour import differences
    from warpwright.tuning.ascend.kernel import plan_kernel

    function, ir_hash = _function(payload)
    planned = plan_kernel(function, _profile(payload), _pins(payload), engine=_engine(payload))
    gaps = differences(planned.schedule, planned.watched)
    return {
        "source": planned.watched.source,
        "schedule": dump(planned.schedule),
        "certificate": dump(planned.certificate),
        "graph": dump(planned.graph),
        "ir_hash": ir_hash,
        "proven": planned.proven,
        "versions": planned.watched.versions,
        "arenas": planned.watched.arenas,
        "not_honoured": [asdict(gap) for gap in gaps],
        "warnings": list(planned.warnings),
        "mark": MARK,
    }


def _function(payload: dict[str, Any]) -> tuple[Any, str]:
    """The checked PrimFunc of a payload and its hash."""
    from warpwright.lowering.frontend.tasks import load_function

    text = payload["ir"]
    document = precheck(text, limit_bytes=int(payload.get("limit_bytes", LIMIT_BYTES)))
    return load_function(text), hash_document(document)


def _profile(payload: dict[str, Any]) -> HardwareProfile:
    profile: HardwareProfile = load(HardwareProfile, payload["profile"])
    return profile


def _pins(payload: dict[str, Any]) -> Pins:
    document = payload.get("pins")
    pins: Pins = load(Pins, document) if document is not None else Pins()
    return pins


def _engine(payload: dict[str, Any]) -> str:
    """The service's default ``cpsat`` means the default here, too: the exact search."""
    name = str(payload.get("engine", "exact"))
    return "exact" if name in ("cpsat", "enumerate") else name


def _annotation_text(pins: Pins) -> str:
    """The statements of ``tilelang.ascend.language`` for these pins."""
    versions = [
        f"{pin.buffer}: "
        + (
            repr(pin.mode)
            if pin.versions is None
            else f"({pin.versions}, {pin.mode!r})"
            if pin.mode is not None
            else str(pin.versions)
        )
        for pin in pins.buffers
        if pin.manual_versions is None
    ]
    manual = [f"{{{pin.buffer}: {pin.manual_versions}}}" for pin in pins.buffers if pin.manual_versions is not None]
    lines = [f"T.annotate_buffer_versions({{{', '.join(versions)}}})"] if versions else []
    lines += [f"T.annotate_manual_multi_buffer({', '.join(manual)})"] if manual else []
    if pins.unlimited_memories:
        lines.append(f"T.annotate_unlimit_memory({', '.join(map(repr, pins.unlimited_memories))})")
    return "\n".join(lines) + "\n" if lines else ""


def _toolchain() -> dict[str, str]:
    from importlib.metadata import version

    return {"tilelang": version("tilelang"), "bisheng": "found" if shutil.which("bisheng") else "none"}
