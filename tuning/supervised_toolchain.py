"""The real toolchain: every step is a task in a supervised child, here or on a worker (``TaskRunner``).

Only the verifier and the simulator run in this process; both are plain Python without an engine or a compiler.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from warpwright.lowering.compile.options import BuildOption
from warpwright.lowering.measure.protocol import GPU_1
from warpwright.solver.ascend.problem import CONSTRAINT_SET as ASCEND_CONSTRAINT_SET
from warpwright.solver.ascend.verify import verify_buffers
from warpwright.solver.domain import (
    CandidateKind,
    Failure,
    HardwareProfile,
    KernelGraph,
    Outcome,
    Pins,
    Proposals,
    Schedule,
    TargetFamily,
    Verdict,
    Violation,
    WarpSchedule,
    digest_bytes,
    digest_text,
    dump,
    dumps,
    load,
)
from warpwright.solver.forecast import forecast_baseline
from warpwright.solver.warp.problem import CONSTRAINT_SET
from warpwright.solver.warp.verify import verify
from warpwright.tuning import errors
from warpwright.tuning.children import Limits, Raised, Refused, Reply, Returned
from warpwright.tuning.compilers import compilers_here
from warpwright.tuning.measure.devices import Devices
from warpwright.tuning.partial_answer import kept
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.solver_attempts import answered, died
from warpwright.tuning.task_runner import TaskAnswer, TaskRunner
from warpwright.tuning.toolchain import (
    Built,
    Contestant,
    Identity,
    KernelRead,
    Materialized,
    Measurement,
    Patience,
    Solving,
    StepFailed,
)

__all__ = ["ChildToolchain"]

VERIFICATION = "reference-unspecialized/2"
"""How correctness is checked: poisoned outputs, fresh inputs, the same IR without specialisation as reference,
before and after.
"""


class ChildToolchain:
    """Implements ``warpwright.tuning.toolchain.Toolchain`` on tasks."""

    def __init__(self, runner: TaskRunner, *, memory_bytes: int = 8 << 30, devices: Devices | None = None) -> None:
        self._runner = runner
        self._memory = memory_bytes
        self._devices = devices or Devices()
        self._pinned: dict[str, KernelGraph] = {}
        """Graphs of NPU proposals by schedule: pins change the problem that a buffer schedule answers."""

    def identity(self, profile: HardwareProfile) -> Identity:
        """Compiler builds, constraint-set version, protocol and verification settings."""
        rules = CONSTRAINT_SET if profile.family is TargetFamily.CUDA else ASCEND_CONSTRAINT_SET
        builds = "compile.cuda" if profile.family is TargetFamily.CUDA else "compile.ascend"
        compilers = self._runner.compilers(builds) or compilers_here(profile.family)
        return Identity(compilers, rules, GPU_1.name, VERIFICATION)

    def read(self, ir: str, profile: HardwareProfile, patience: Patience) -> KernelRead:
        """Task ``frontend.read`` (``frontend.read_ascend`` for NPUs)."""
        task = "frontend.read" if profile.family is TargetFamily.CUDA else "frontend.read_ascend"
        value = self._run(task, {"ir": ir, "profile": dump(profile)}, patience, "frontend")
        return KernelRead(load(KernelGraph, value["graph"]), value["ir_hash"])

    def propose(self, kernels: Mapping[int, KernelRead], request: TuneRequest, patience: Patience) -> Proposals:
        """Task ``propose.warp`` or ``propose.buffer``, in a child that can be killed whatever the solver does."""
        cuda = request.profile.family is TargetFamily.CUDA
        payload = {
            "kernels": [
                {
                    "variant": number,
                    "params": dict(request.variants[number].params),
                    "ir_hash": kernel.ir_hash,
                    # NPU problems are TileLang's own scheduler calls: they are asked again under the pins.
                    **({"graph": dump(kernel.graph)} if cuda else {"ir": request.variants[number].ir}),
                }
                for number, kernel in sorted(kernels.items())
            ],
            "profile": dump(request.profile),
            "pins": dump(request.pins),
            "count": request.budget.candidates,
            "engine": request.engine,
            "seed": request.seed,
            "work_limit": request.budget.work_limit,
            "wall_seconds": patience.left,
        }
        value, ended = self._best_of("propose.warp" if cuda else "propose.buffer", payload, patience)
        proposals: Proposals = load(Proposals, value["proposals"])
        for candidate in proposals.candidates:
            if candidate.schedule is not None and (graph := value.get("graphs", {}).get(candidate.id)) is not None:
                self._pinned[_digest(candidate.schedule)] = load(KernelGraph, graph)
        return replace(proposals, ended=ended)

    def solve(
        self, kernel: KernelRead, profile: HardwareProfile, pins: Pins, solving: Solving, patience: Patience
    ) -> Verdict:
        """Task ``solve.warp``; if the solve was killed, the best verified schedule that it had."""
        payload = {**_question(kernel, profile, pins, patience), **asdict(solving)}
        value, _ = self._best_of("solve.warp", payload, patience)
        verdict: Verdict = load(Verdict, value["verdict"])
        return verdict

    def explain(
        self, kernel: KernelRead, profile: HardwareProfile, pins: Pins, why: str, patience: Patience
    ) -> Mapping[str, object]:
        """Task ``explain.warp``."""
        payload = {**_question(kernel, profile, pins, patience), **asdict(Solving()), "why": why}
        answer = self._solved("explain.warp", payload, patience)
        explanation: Mapping[str, object] = _value(answer.reply, "solve")["explanation"]
        return explanation

    def forecast(self, kernel: KernelRead, kind: CandidateKind, profile: HardwareProfile) -> float | None:
        """The simulator's forecast of one of TileLang's own choices."""
        if kind is CandidateKind.SCHEDULED or profile.family is not TargetFamily.CUDA:
            return None
        simulation = forecast_baseline(kernel.graph, profile, kind)
        return None if simulation.deadlocked else float(simulation.nanoseconds)

    def verify(self, kernel: KernelRead, profile: HardwareProfile, schedule: Schedule) -> tuple[Violation, ...]:
        """The independent verifier."""
        if not isinstance(schedule, WarpSchedule):
            graph = self._pinned.get(_digest(schedule), kernel.graph)
            return verify_buffers(graph, profile, schedule)
        return verify(kernel.graph, profile, schedule)

    def materialize(self, ir: str, schedule: Schedule, profile: HardwareProfile, patience: Patience) -> Materialized:
        """Task ``materialize.warp`` or ``materialize.ascend``."""
        task = "materialize.warp" if profile.family is TargetFamily.CUDA else "materialize.ascend"
        value = self._run(task, {"ir": ir, "schedule": dump(schedule)}, patience, "materialize")
        products = {"ir": value["ir"].encode()}
        if value.get("source"):
            products["tilelang_source"] = value["source"].encode()
        return Materialized(value["ir"], products)

    def plain_source(
        self, ir: str, kind: CandidateKind, profile: HardwareProfile, patience: Patience, *, fenced: bool = False
    ) -> str:
        """Task ``materialize.plain``; an NPU's source is what its compiler is given."""
        if profile.family is not TargetFamily.CUDA:
            return ""
        payload = {"ir": ir, "variant": kind.value, "fenced_for": profile.arch if fenced else ""}
        value = self._run("materialize.plain", payload, patience, "materialize")
        return str(value["source"])

    def compile(
        self,
        ir: str,
        kind: CandidateKind,
        schedule: Schedule | None,
        profile: HardwareProfile,
        patience: Patience,
        build_options: Sequence[BuildOption] = (),
    ) -> Built:
        """Task ``compile.cuda`` or ``compile.ascend``: a CompiledKernel document and its files."""
        cuda = profile.family is TargetFamily.CUDA
        payload = {
            "ir": ir,
            "arch": profile.arch,
            "variant": kind.value,
            "schedule": dump(schedule) if schedule is not None else None,
            "profile": dump(profile),
            "options": list(build_options),
        }
        task = "compile.cuda" if cuda else "compile.ascend"
        value, files = self._run_with_files(task, payload, patience)
        return _built(value, files, "cuda_source" if cuda else "ascend_source")

    def announced(self, profile: HardwareProfile, deadline: float) -> AbstractContextManager[Callable[[], float]]:
        """In the queue of this machine's device."""
        return self._devices.announced(profile, deadline)

    def measures(self, profile: HardwareProfile) -> bool:
        """Whether this machine has a device of this profile."""
        return self._devices.for_profile(profile) is not None

    def measure(
        self, candidates: Sequence[Contestant], irs: Sequence[str], profile: HardwareProfile, patience: Patience
    ) -> Iterator[tuple[str, Measurement | StepFailed]]:
        """A measuring session on this machine's device; see ``warpwright.lowering.measure``."""
        device = self._devices.for_profile(profile)
        if device is None:
            return
        with tempfile.TemporaryDirectory(prefix="warpwright-measure-") as folder:
            yield from self._devices.session(device, profile, candidates, Path(folder), patience)

    def available(self) -> bool:
        """Whether the task runner can send out tasks."""
        return self._runner.available()

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        """As the task runner knows."""
        return self._runner.missing(capabilities)

    def close(self) -> None:
        """End all children."""
        self._runner.close()

    def _run(self, task: str, payload: dict[str, Any], patience: Patience, step: str) -> dict[str, Any]:
        answer = self._runner.run(
            task, payload, self._limits(patience), cancel=patience.stop.event, trace=errors.trace()
        )
        return _value(answer.reply, step)

    def _best_of(self, task: str, payload: dict[str, Any], patience: Patience) -> tuple[dict[str, Any], str]:
        """A search's result, or the best that it had when it was stopped, and how it ended (empty: by itself).

        Raises:
            WarpwrightError: the task refused its input. StepFailed: it was stopped before it had a result.
        """
        answer = self._solved(task, payload, patience)
        best = kept(answer.files)
        if best is None or isinstance(answer.reply, Returned | Refused):
            return _value(answer.reply, "solve"), ""
        return best, f"the search was stopped: {errors.failed(answer.reply, 'solve').failure.message}"

    def _solved(self, task: str, payload: dict[str, Any], patience: Patience) -> TaskAnswer:
        """A solver's task; one whose child dies is asked again by other means."""

        def ask(asked: dict[str, Any]) -> TaskAnswer:
            limits, event = self._limits(patience), patience.stop.event
            return self._runner.run(task, asked, limits, cancel=event, trace=errors.trace(), output=True)

        return answered(ask, payload, lambda answer: answer.reply)

    def _run_with_files(
        self, task: str, payload: dict[str, Any], patience: Patience
    ) -> tuple[dict[str, Any], dict[str, bytes]]:
        limits = self._limits(patience)
        answer = self._runner.run(task, payload, limits, cancel=patience.stop.event, trace=errors.trace(), output=True)
        return _value(answer.reply, "compile"), answer.files

    def _limits(self, patience: Patience) -> Limits:
        seconds = max(1.0, patience.left)
        return Limits(wall_seconds=seconds, cpu_seconds=seconds * 4, memory_bytes=self._memory)


def _question(kernel: KernelRead, profile: HardwareProfile, pins: Pins, patience: Patience) -> dict[str, Any]:
    return {
        "graph": dump(kernel.graph),
        "profile": dump(profile),
        "pins": dump(pins),
        "wall_seconds": max(1.0, patience.left - 2.0),
    }


def _value(reply: Reply, step: str) -> dict[str, Any]:
    """The task's result.

    Raises:
        WarpwrightError: the task refused its input. StepFailed: anything else.
    """
    if isinstance(reply, Returned):
        return reply.value
    if isinstance(reply, Refused) and step in ("frontend", "solve") and reply.code != "unknown-task":
        raise errors.refusal(reply)
    if step == "solve" and (isinstance(reply, Raised) or died(reply)):
        raise errors.solver_fault(reply)
    raise errors.failed(reply, step)


def _digest(schedule: Schedule) -> str:
    return digest_text(dumps(schedule))


def _built(document: dict[str, Any], files: dict[str, bytes], source_name: str) -> Built:
    """A CompiledKernel document as the orchestration needs it.

    Raises:
        StepFailed: the outcome says that it must not be used; the report is attached.
    """
    outcome = document["outcome"]
    source = document.get("source", "")
    binary = document.get("binary") is not None
    report = {key: value for key, value in document.items() if key not in ("source", "binary")}
    products: dict[str, bytes] = {source_name: source.encode()} if source else {}
    if binary:
        # By digest, not by path: the path belongs to the machine that built it.
        data = next((data for data in files.values() if digest_bytes(data) == document["binary_digest"]), None)
        if data is None:
            failure = Failure("binary-missing", "the build names a binary that was not returned with it")
            raise StepFailed(Outcome.INFRASTRUCTURE, failure, report=report)
        products["binary"] = data
    kind = Outcome(outcome["kind"]) if outcome["kind"] in set(Outcome) else Outcome.INFRASTRUCTURE
    if kind not in (Outcome.COMPILED, Outcome.NOT_HONOURED):
        details = outcome.get("details") or ()
        failure = Failure(errors.code_of(kind, details), outcome.get("message", ""))
        raise StepFailed(kind, failure, report=report)
    gaps = tuple(f"{gap['what']}: planned {gap['planned']}, found {gap['found']}" for gap in document["not_honoured"])
    if kind is Outcome.NOT_HONOURED and not gaps:
        gaps = (outcome.get("message", "the binary differs from the plan"),)
    return Built(report, gaps, products, binary=binary)
