"""Devices of this machine, and measuring sessions on them as the orchestration needs them: results one by one.

A device is probed once, in a child: opening a driver in this process would bind its context to this process.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import structlog

from warpwright.lowering.compile import CompiledKernel, from_document
from warpwright.lowering.measure.protocol import GPU_1
from warpwright.lowering.measure.result import Measured
from warpwright.lowering.measure.runner import MeasureJob, OtherSize
from warpwright.solver.domain import Candidate, CandidateKind, Failure, HardwareProfile, Outcome
from warpwright.tuning import errors, telemetry
from warpwright.tuning.children import Limits, Refused, Returned, run_task
from warpwright.tuning.errors import code_of
from warpwright.tuning.measure.lease import lease_name, queue_of_device
from warpwright.tuning.measure.session import MeasureReport, measure_all
from warpwright.tuning.measure.session_time import ESSENTIAL, essential_seconds
from warpwright.tuning.outage import Outage
from warpwright.tuning.task_runners.queues import SESSION
from warpwright.tuning.toolchain import Built, BuiltSize, Contestant, Measurement, Patience, StepFailed

__all__ = ["Devices", "FoundDevice", "jobs_of", "matches", "streamed", "told_outcomes"]

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
        self, device: FoundDevice, candidates: Sequence[Contestant], folder: Path, patience: Patience
    ) -> Outcomes:
        """Measure candidates; first each one's own result, then the finalists' again with the figures of the
        interleaved rounds.
        """
        jobs, baselines = jobs_of(candidates, folder)

        def session(on_result: Callable[[Measured], None]) -> MeasureReport:
            with telemetry.span(f"task {SESSION}"):
                return measure_all(
                    jobs,
                    device.options,
                    baselines=baselines,
                    always_final=baselines,
                    budget_seconds=patience.left,
                    cancel=patience.stop.event,
                    on_result=on_result,
                    trace=errors.trace(),
                )

        yield from streamed(session)

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
    """Whether a device has the profile's name and architecture."""
    arch = str(device.facts.get("arch", ""))
    name = str(device.facts.get("name", "")).lower().replace(" ", "")
    return bool(arch) and profile.arch.startswith(arch) and profile.name.lower() in name


def jobs_of(candidates: Sequence[Contestant], folder: Path) -> tuple[list[MeasureJob], list[str]]:
    """The session's jobs, their binaries as files in ``folder``, and which of them are the compiler's own choices."""
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
    return jobs, [c.candidate.id for c in candidates if c.candidate.kind is not CandidateKind.SCHEDULED]


def streamed(session: Callable[[Callable[[Measured], None]], MeasureReport]) -> Outcomes:
    """Run a session in a thread and pass on its results as they arrive, the finalists' last.

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
    seen: dict[str, Measured] = {}
    while True:
        item = results.get()
        if isinstance(item, StepFailed | Outage):
            raise item
        if isinstance(item, BaseException):
            raise StepFailed(Outcome.INFRASTRUCTURE, Failure("measure-broke", f"{type(item).__name__}: {item}"))
        if isinstance(item, MeasureReport):
            yield from _finals(item, seen)
            return
        seen[item.candidate] = item
        yield item.candidate, _outcome(item)


def told_outcomes(report: MeasureReport) -> dict[str, Measurement | StepFailed]:
    """The outcome of each candidate in a finished session: finalists by the interleaved rounds, the others by their
    own timing.
    """
    seen = {measured.candidate: measured for measured in report.results}
    found = {candidate: _outcome(measured) for candidate, measured in seen.items()}
    return {**found, **dict(_finals(report, seen))}


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


_UNFIT = {
    "contended": Outcome.CONTENDED,
    "yardstick": Outcome.REFERENCE_FAILED,
    "implausible": Outcome.WRONG_RESULT,
}


def _outcome(measured: Measured) -> Measurement | StepFailed:
    record: dict[str, Any] = {
        "protocol": measured.protocol,
        "flags": list(measured.flags),
        "device": asdict(measured.device) if measured.device else None,
        "before": asdict(measured.before) if measured.before else None,
        "after": asdict(measured.after) if measured.after else None,
        "checks": [asdict(check) for check in measured.checks],
        "binary_digest": measured.binary_digest,
        "waves": measured.waves,
        "seconds": measured.seconds,
        **(asdict(measured.summary) if measured.summary else {}),
    }
    if measured.outcome.kind is Outcome.MEASURED and measured.summary is not None:
        if measured.eligible:
            return Measurement(measured.summary.median_ns, record)
        # Neighbours excuse a time, and a candidate without a reference was not checked: neither is the candidate's fault.
        flag = next((each for each in ("contended", "yardstick", "implausible") if each in measured.flags), "contended")
        outcome = _UNFIT[flag]
        why = flag if flag != "contended" else f"another process was using the device{_neighbours(measured)}"
        failure = Failure(code_of(outcome, [flag]), f"timed at {measured.summary.median_ns:.0f} ns, but {why}")
        return StepFailed(outcome, failure, report=record)
    outcome = measured.outcome.kind
    failure = Failure(code_of(outcome, measured.outcome.details), measured.outcome.message)
    return StepFailed(outcome, failure, report=record)


def _neighbours(measured: Measured) -> str:
    """Which processes they were, as far as the driver knows."""
    seen = [conditions.foreign for conditions in (measured.before, measured.after) if conditions is not None]
    names = sorted({name for each in seen for name in each})
    return f": {', '.join(names)}" if names else ""


def _finals(report: MeasureReport, seen: dict[str, Measured]) -> Iterator[tuple[str, Measurement | StepFailed]]:
    if report.rounds is None:
        return
    for candidate, figures in report.rounds.figures_ns.items():
        measured = seen.get(candidate)
        if measured is None or not measured.eligible or not figures or report.rounds.contended:
            continue
        wrong = (report.rounds.wrong or {}).get(candidate)
        if wrong is not None:
            yield candidate, StepFailed(Outcome.WRONG_RESULT, Failure("wrong-after-timing", wrong))
            continue
        first = _outcome(measured)
        record = dict(first.record) if isinstance(first, Measurement) else {}
        tied = report.verdict is not None and candidate in report.verdict.tied
        yield candidate, Measurement(median(figures), {**record, "rounds_ns": list(figures), "tied": tied})
