"""The stand-in toolchain with every step a task of a task runner, to test the runners of the real toolchain.

It behaves as the plain stand-in does, so the same tests pass on both; but the steps sleep, hang and crash in children, here
or on workers, their products travel as files by digest, and times come from a session on the simulated device.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from warpwright.lowering.compile.options import BuildOption
from warpwright.lowering.measure.protocol import GPU_1
from warpwright.solver.domain import (
    CandidateKind,
    Failure,
    HardwareProfile,
    KernelGraph,
    Outcome,
    Pins,
    Proposals,
    Schedule,
    Verdict,
    Violation,
    dump,
    load,
)
from warpwright.tuning import errors
from warpwright.tuning.children import Cancelled, Limits, Raised, Refused, Returned, TimedOut
from warpwright.tuning.measure.devices import Devices
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.task_runner import TaskAnswer, TaskRunner
from warpwright.tuning.testing.toolchain import StandInToolchain
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

__all__ = ["SIMULATED", "StandInOnRunner"]

SIMULATED: dict[str, Any] = {"kind": "simulated", "name": "simulated H200"}
"""Options of the device that the stand-in's kernels run on; the profile ``h200`` describes it."""


class StandInOnRunner:
    """Implements ``warpwright.tuning.toolchain.Toolchain``. ``plain`` says version and device, and counts what was compiled."""

    def __init__(self, runner: TaskRunner, devices: Devices, plain: StandInToolchain | None = None) -> None:
        self.plain = plain or StandInToolchain()
        self.runner = runner
        self._devices = devices

    def identity(self, profile: HardwareProfile) -> Identity:
        """The plain stand-in's columns; its sessions are real ones, on a simulated device."""
        return replace(self.plain.identity(profile), protocol=GPU_1.name)

    def read(self, ir: str, profile: HardwareProfile, patience: Patience) -> KernelRead:
        """Task ``stand_in.read``."""
        value = self._run("stand_in.read", {"ir": ir, "profile": dump(profile)}, patience, "frontend")
        return KernelRead(load(KernelGraph, value["graph"]), value["ir_hash"])

    def propose(self, kernels: Mapping[int, KernelRead], request: TuneRequest, patience: Patience) -> Proposals:
        """Task ``stand_in.propose``."""
        payload = {
            "variants": {str(n): [request.variants[n].ir, dict(request.variants[n].params)] for n in kernels},
            "profile": dump(request.profile),
            "count": request.budget.candidates,
        }
        value = self._run("stand_in.propose", payload, patience, "solve")
        found: Proposals = load(Proposals, value["proposals"])
        return found

    def solve(
        self, kernel: KernelRead, profile: HardwareProfile, pins: Pins, solving: Solving, patience: Patience
    ) -> Verdict:
        """Task ``stand_in.solve``."""
        payload = {"graph": dump(kernel.graph), "profile": dump(profile), **asdict(solving)}
        verdict: Verdict = load(Verdict, self._run("stand_in.solve", payload, patience, "solve")["verdict"])
        return verdict

    def explain(
        self, kernel: KernelRead, profile: HardwareProfile, pins: Pins, why: str, patience: Patience
    ) -> Mapping[str, object]:
        """Task ``stand_in.explain``."""
        payload = {"graph": dump(kernel.graph), "profile": dump(profile), "why": why}
        found: Mapping[str, object] = self._run("stand_in.explain", payload, patience, "solve")["explanation"]
        return found

    def forecast(self, kernel: KernelRead, kind: CandidateKind, profile: HardwareProfile) -> float | None:
        """The plain stand-in's."""
        return self.plain.forecast(kernel, kind, profile)

    def verify(self, kernel: KernelRead, profile: HardwareProfile, schedule: Schedule) -> tuple[Violation, ...]:
        """The plain stand-in's."""
        return self.plain.verify(kernel, profile, schedule)

    def materialize(self, ir: str, schedule: Schedule, profile: HardwareProfile, patience: Patience) -> Materialized:
        """Task ``stand_in.materialize``."""
        payload = {"ir": ir, "schedule": dump(schedule), "profile": dump(profile)}
        value = self._run("stand_in.materialize", payload, patience, "materialize")
        return Materialized(value["ir"], {"tilelang_source": value["source"].encode()})

    def plain_source(
        self, ir: str, kind: CandidateKind, profile: HardwareProfile, patience: Patience, *, fenced: bool = False
    ) -> str:
        """The plain stand-in's."""
        return self.plain.plain_source(ir, kind, profile, patience, fenced=fenced)

    def compile(
        self,
        ir: str,
        kind: CandidateKind,
        schedule: Schedule | None,
        profile: HardwareProfile,
        patience: Patience,
        build_options: Sequence[BuildOption] = (),
    ) -> Built:
        """Task ``stand_in.compile``."""
        payload = {
            "ir": ir,
            "kind": kind.value,
            "schedule": dump(schedule) if schedule is not None else None,
            "profile": dump(profile),
        }
        answer = self._task("stand_in.compile", payload, patience, output=True)
        if not isinstance(answer.reply, Cancelled | TimedOut):
            number = -1 if schedule is None else getattr(schedule, "num_warps", 0) - 4
            self.plain.compiled.append(f"{kind.value}:{number}")
        if isinstance(answer.reply, Raised):
            raise RuntimeError(answer.reply.message)
        value = _value(answer, "compile")
        if told := value.get("failed"):
            outcome = Outcome(told.pop("outcome"))
            raise StepFailed(outcome, Failure(**told))
        report = {**value["report"], "options": list(build_options)}
        return Built(report, tuple(value["not_honoured"]), answer.files)

    def announced(self, profile: HardwareProfile, deadline: float) -> AbstractContextManager[Callable[[], float]]:
        """In the queue of this machine's device."""
        return self._devices.announced(profile, deadline)

    def measures(self, profile: HardwareProfile) -> bool:
        """Where the plain stand-in has a device and one is found."""
        return self.plain.device and self._devices.for_profile(profile) is not None

    def measure(
        self, candidates: Sequence[Contestant], irs: Sequence[str], profile: HardwareProfile, patience: Patience
    ) -> Iterator[tuple[str, Measurement | StepFailed]]:
        """A session on the simulated device, here or at a worker."""
        device = self._devices.for_profile(profile)
        if device is None:
            return
        with tempfile.TemporaryDirectory(prefix="warpwright-measure-") as folder:
            yield from self._devices.session(device, profile, candidates, Path(folder), patience)

    def available(self) -> bool:
        """Whether the task runner can send out tasks."""
        return self.runner.available()

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        """As the task runner knows."""
        return self.runner.missing(capabilities)

    def close(self) -> None:
        """Close the task runner."""
        self.runner.close()

    def _run(self, task: str, payload: dict[str, Any], patience: Patience, step: str) -> dict[str, Any]:
        return _value(self._task(task, payload, patience), step)

    def _task(self, task: str, payload: dict[str, Any], patience: Patience, *, output: bool = False) -> TaskAnswer:
        # The stand-in's steps take as long as the recipe says, so the child's clock is the step's own time limit.
        limits = Limits(wall_seconds=max(0.05, patience.left))
        return self.runner.run(task, payload, limits, cancel=patience.stop.event, trace=errors.trace(), output=output)


def _value(answer: TaskAnswer, step: str) -> dict[str, Any]:
    if isinstance(answer.reply, Returned):
        return answer.reply.value
    if isinstance(answer.reply, Refused) and step in ("frontend", "solve"):
        raise errors.refusal(answer.reply)
    raise errors.failed(answer.reply, step)
