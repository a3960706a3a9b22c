"""The devices of a farm: if this machine lacks the device, a worker measures, through the queue of its device."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from warpwright.lowering.measure.result import Measured
from warpwright.solver.domain import Failure, HardwareProfile, Outcome
from warpwright.tuning import errors
from warpwright.tuning.children import Cancelled, Limits, Returned
from warpwright.tuning.measure.devices import Devices, FoundDevice, streamed
from warpwright.tuning.measure.outcomes import known_builds
from warpwright.tuning.measure.session import MeasureReport
from warpwright.tuning.measure.worker_session import measured_from, report_from, session_inputs, session_payload
from warpwright.tuning.task_runner import TaskRunner
from warpwright.tuning.task_runners.queues import SESSION, measuring
from warpwright.tuning.toolchain import Contestant, Measurement, Patience, StepFailed

__all__ = ["FarmDevices"]

log = structlog.get_logger(__name__)

ELSEWHERE = "worker"
GRACE_SECONDS = 60.0
"""Extra time of a session after its budget: interleaved rounds that began in time may end."""


class FarmDevices(Devices):
    """This machine's devices, and those that workers offer."""

    def __init__(self, runner: TaskRunner, options: Sequence[dict[str, Any]] | None = None) -> None:
        super().__init__(options)
        self._runner = runner

    def for_profile(self, profile: HardwareProfile) -> FoundDevice | None:
        """A device of this machine, else one that a live worker offers."""
        own = super().for_profile(profile)
        if own is None and self._runner.offers(measuring(profile.name)):
            return FoundDevice({"kind": ELSEWHERE, "profile": profile.name}, {})
        return own

    def session(
        self,
        device: FoundDevice,
        profile: HardwareProfile,
        candidates: Sequence[Contestant],
        folder: Path,
        patience: Patience,
    ) -> Iterator[tuple[str, Measurement | StepFailed]]:
        """Measure candidates where the device is.

        A session whose worker died is sent out again as a whole: its times are comparable only among themselves, and a
        candidate's new time replaces the old one.
        """
        if device.options.get("kind") != ELSEWHERE:
            yield from super().session(device, profile, candidates, folder, patience)
            return
        name = str(device.options["profile"])
        builds = known_builds(candidates, profile)
        yield from streamed(lambda on_result: self._remote(name, candidates, patience, on_result), builds)

    def _remote(
        self,
        profile: str,
        candidates: Sequence[Contestant],
        patience: Patience,
        on_result: Callable[[Measured], None],
    ) -> MeasureReport:
        seconds = patience.left
        limits = Limits(
            wall_seconds=seconds + GRACE_SECONDS, cpu_seconds=4 * (seconds + GRACE_SECONDS), memory_bytes=64 << 30
        )
        told: dict[str, Measured | None] = {each.candidate.id: None for each in candidates}

        def tell(measured: Measured) -> None:
            # Once each; a session that was sent out again replaces the one before.
            if measured.candidate in told and told[measured.candidate] != measured:
                told[measured.candidate] = measured
                on_result(measured)

        def on_event(event: dict[str, Any]) -> None:
            try:
                tell(measured_from(event["measured"]))
            except (ValueError, KeyError, TypeError) as error:
                log.warning("event-of-no-measurement", error=str(error)[:200])

        with _deadline(patience, seconds + GRACE_SECONDS) as cancel:
            answer = self._runner.run(
                SESSION,
                session_payload(profile, candidates, seconds),
                limits,
                cancel=cancel,
                trace=errors.trace(),
                on_event=on_event,
                inputs=session_inputs(candidates),
            )
        if isinstance(answer.reply, Cancelled):
            if patience.stop.is_raised():
                return MeasureReport((), partial=True)
            raise StepFailed(
                Outcome.TIMED_OUT, Failure("device-busy", f"no worker ended a session within {seconds:.0f} s")
            )
        if not isinstance(answer.reply, Returned):
            raise errors.failed(answer.reply, "measure")
        try:
            report = report_from(answer.reply.value)
        except (ValueError, KeyError, TypeError) as error:
            failure = Failure("measure-reply", f"a worker's report cannot be read: {str(error)[:300]}")
            raise StepFailed(Outcome.INFRASTRUCTURE, failure) from error
        for measured in report.results:
            tell(measured)  # events may be lost with a broker's memory; the report holds them all
        return report


@contextmanager
def _deadline(patience: Patience, seconds: float) -> Iterator[threading.Event]:
    """An event that is set when the stop flag is set, or after ``seconds``."""
    over, left = threading.Event(), threading.Event()
    until = time.monotonic() + seconds

    def watch() -> None:
        while not left.wait(0.05):
            if patience.stop.is_raised() or time.monotonic() > until:
                over.set()
                return

    thread = threading.Thread(target=watch, name="deadline", daemon=True)
    thread.start()
    try:
        yield over
    finally:
        left.set()
        thread.join()
