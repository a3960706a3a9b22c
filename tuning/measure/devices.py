"""Devices of this machine, and measuring sessions on them as the orchestration needs them: results one by one.

A device is probed once, in a child: opening a driver in this process would bind its context to this process.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import structlog

from warpwright.lowering.compile import CompiledKernel, from_document
from warpwright.lowering.measure.protocol import GPU_1
from warpwright.lowering.measure.result import Measured
from warpwright.lowering.measure.runner import MeasureJob, OtherSize
from warpwright.solver.domain import Candidate, CandidateKind, Failure, HardwareProfile, Outcome
from warpwright.tuning import errors, telemetry
from warpwright.tuning.children import Limits, Refused, Returned, run_task
from warpwright.tuning.measure import proof
from warpwright.tuning.measure.lease import lease_name, queue_of_device
from warpwright.tuning.measure.outcomes import known_builds, outcome_of, outcomes_of
from warpwright.tuning.measure.proof import KnownBuild
from warpwright.tuning.measure.seats import Seats, seats_of
from warpwright.tuning.measure.session import MeasureReport, measure_all
from warpwright.tuning.measure.session_time import ESSENTIAL, essential_seconds
from warpwright.tuning.outage import Outage
from warpwright.tuning.task_runners.queues import SESSION
from warpwright.tuning.toolchain import Built, BuiltSize, Contestant, Measurement, Patience, StepFailed

__all__ = ["Devices", "FoundDevice", "jobs_of", "matches", "streamed"]

Outcomes = Iterator[tuple[str, Measurement | StepFailed]]

log = structlog.get_logger(__name__)

PROBE = Limits(wall_seconds=60.0, memory_bytes=64 << 30)
LOCAL = frozenset({"cuda", "npu", "simulated", "host"})
"""Kinds of devices of this machine."""
DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/davinci_manager"))


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """A device found on this machine: how to open it, and what it reports about itself."""

    options: dict[str, Any]
    facts: dict[str, Any]


class Devices:
    """This machine's devices. ``options`` overrides the search, for tests and for workers that own one device."""

    def __init__(self, options: Sequence[dict[str, Any]] | None = None) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._answers: dict[int, FoundDevice | None] = {}

    def all(self) -> tuple[FoundDevice, ...]:
        """Every device that its driver lists. None is opened, because a session may be measuring on it. Each session
        tests it first.

        That there is a device, or none, is remembered; a query that was killed or late says neither, and is repeated
        again the next time.
        """
        with self._lock:
            if self._options is None:
                self._options = _present()
            for number, options in enumerate(self._options):
                if number not in self._answers:
                    self._ask(number, options)
            return tuple(device for _, device in sorted(self._answers.items()) if device is not None)

    def for_profile(self, profile: HardwareProfile) -> FoundDevice | None:
        """A device with the profile's name and architecture."""
        return next((device for device in self.all() if matches(device, profile)), None)

    def session(
        self,
        device: FoundDevice,
        profile: HardwareProfile,
        candidates: Sequence[Contestant],
        folder: Path,
        patience: Patience,
    ) -> Outcomes:
        """Measure candidates; first each one's own result, then the finalists' again with the figures of the
        interleaved rounds.
        """
        jobs, seats = jobs_of(candidates, folder)

        def session(on_result: Callable[[Measured], None]) -> MeasureReport:
            with telemetry.span(f"task {SESSION}"):
                return measure_all(
                    jobs,
                    device.options,
                    **seats,
                    budget_seconds=patience.left,
                    cancel=patience.stop.event,
                    on_result=on_result,
                    trace=errors.trace(),
                )

        yield from streamed(session, known_builds(candidates, profile))

    def announced(self, profile: HardwareProfile, deadline: float) -> AbstractContextManager[Callable[[], float]]:
        """See ``Toolchain.announced``. Devices of other machines have their own queues, which are not visible here."""
        device = self.for_profile(profile)
        if device is None or device.options.get("kind") not in LOCAL:
            return nullcontext(_whenever)
        return _announced(device.options, str(device.facts.get("uuid", "")), deadline)

    def _ask(self, number: int, options: dict[str, Any]) -> None:
        reply = run_task("measure.device", {"action": "describe", "device": options}, PROBE)
        if isinstance(reply, Returned):
            self._answers[number] = FoundDevice(dict(options), reply.value["facts"])
            return
        if isinstance(reply, Refused):
            self._answers[number] = None
        log.warning("device-not-usable", device=options, reply=type(reply).__name__)


@contextmanager
def _announced(options: dict[str, Any], uuid: str, deadline: float) -> Iterator[Callable[[], float]]:
    queue_here = queue_of_device(lease_name(options, uuid if options.get("kind") == "cuda" else ""))
    with queue_here.place(deadline, essential_seconds(GPU_1, ESSENTIAL), ready=False) as place:
        yield place.latest_start


def _whenever() -> float:
    return inf


def _present() -> list[dict[str, Any]]:
    """Devices that the operating system shows; nothing is opened."""
    found: list[dict[str, Any]] = []
    if DRIVERS[0].exists():
        found += [{"kind": "cuda", "index": n} for n in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]
    if DRIVERS[1].exists():
        found += [{"kind": "npu", "index": n} for n in range(len(list(Path("/dev").glob("davinci[0-9]*"))))]
    return found


def matches(device: FoundDevice, profile: HardwareProfile) -> bool:
    """Whether a device's name and architecture are the profile's."""
    return proof.matches(str(device.facts.get("name", "")), str(device.facts.get("arch", "")), profile)


def jobs_of(candidates: Sequence[Contestant], folder: Path) -> tuple[list[MeasureJob], Seats]:
    """The session's jobs, their binaries as files in ``folder``, and how its candidates are compared."""
    kernels = {c.candidate.id: _kernel(c.candidate.id, c.candidate, folder) for c in candidates}
    binaries = (kernels[c.candidate.id] for c in candidates if c.candidate.kind is CandidateKind.UNSPECIALIZED)
    reference = next((kernel for kernel in binaries if kernel.binary), None)
    jobs = [
        MeasureJob(
            candidate=c.candidate.id,
            kernel=kernels[c.candidate.id],
            reference=reference,
            floor_ns=c.floor_ns,
            expected_ns=c.candidate.forecast_ns or 0.0,
            also=tuple(_size(c.candidate.id, number, size, folder) for number, size in enumerate(c.sizes)),
        )
        for c in candidates
    ]
    return jobs, seats_of([each.candidate for each in candidates])


def streamed(
    session: Callable[[Callable[[Measured], None]], MeasureReport], builds: Mapping[str, KnownBuild]
) -> Outcomes:
    """Run a session in a thread and pass on its results as they arrive; at its end again those of which it says more.

    Raises:
        StepFailed: the session's own, or ``measure-broke`` for any other error. Outage: the task runner does not answer.
    """
    results: queue.SimpleQueue[Measured | MeasureReport | BaseException] = queue.SimpleQueue()

    def measure() -> None:
        try:
            results.put(session(results.put))
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            results.put(error)

    # With this thread's context, so that logs and children of the session carry the job's trace.
    threading.Thread(target=copy_context().run, args=(measure,), name="measure", daemon=True).start()
    seen: dict[str, Measurement | StepFailed] = {}
    while True:
        item = results.get()
        if isinstance(item, StepFailed | Outage):
            raise item
        if isinstance(item, BaseException):
            raise StepFailed(Outcome.INFRASTRUCTURE, Failure("measure-broke", f"{type(item).__name__}: {item}"))
        if isinstance(item, MeasureReport):
            for candidate, outcome in outcomes_of(item, builds).items():
                if not _same(seen.get(candidate), outcome):
                    yield candidate, outcome
            return
        seen[item.candidate] = outcome_of(item, builds[item.candidate])
        yield item.candidate, seen[item.candidate]


def _same(told: Measurement | StepFailed | None, now: Measurement | StepFailed) -> bool:
    if isinstance(told, StepFailed) and isinstance(now, StepFailed):
        return (told.outcome, told.failure) == (now.outcome, now.failure)
    return told == now


def _size(candidate: str, number: int, size: BuiltSize, folder: Path) -> OtherSize:
    name = f"{candidate}-size-{number}"
    return OtherSize(size.name, _kernel(name, size.candidate, folder), _kernel(f"{name}-ref", size.reference, folder))


def _kernel(name: str, built: Built | Candidate, folder: Path) -> CompiledKernel:
    """A compiled kernel with its binary as a file of this machine."""
    document: dict[str, object] = {**built.report, "source": "", "binary": None}
    if (binary := built.products.get("binary")) is not None:
        path = folder / f"{name}.so"
        path.write_bytes(binary)
        document["binary"] = str(path)
    return from_document(document)
