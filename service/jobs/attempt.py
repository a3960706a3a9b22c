"""One attempt of one job: load the request, tune, write the end. Runs in a thread of the job runner."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import structlog
from opentelemetry.trace import SpanKind
from structlog.contextvars import bind_contextvars, clear_contextvars

from warpwright.lowering.compile.options import build_options, column_of
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.change_notifier import Bulletin
from warpwright.service.db import DATABASE_AWAY, Database, ReadSession, WriteSession
from warpwright.service.db.base import now
from warpwright.service.db.models import Job, JobSize, JobVariant, Profile
from warpwright.service.errors import NotFound
from warpwright.service.health.metrics import EventCounter
from warpwright.service.jobs import repository
from warpwright.service.jobs.claims import Claim, LeaseLost, blamed_attempts, close_attempt, held, release
from warpwright.service.jobs.recorder import Recorder
from warpwright.service.jobs.reusable_candidates import KnownCandidates
from warpwright.service.jobs.states import JobState
from warpwright.service.profiles.service import domain_profile
from warpwright.service.results.store import remember
from warpwright.service.settings import Settings
from warpwright.solver.domain import Failure, Outcome, Pins, WarpwrightError, digest_text, dumps, load
from warpwright.tuning import telemetry
from warpwright.tuning.events import Event
from warpwright.tuning.orchestrate import tune
from warpwright.tuning.outage import Outage
from warpwright.tuning.ranking import ranking_of
from warpwright.tuning.request import Size, TuneBudget, TuneRequest, Variant
from warpwright.tuning.result import Ending, TuneResult
from warpwright.tuning.toolchain import Identity, StepFailed, Stop, Toolchain

__all__ = ["Attempt"]

log = structlog.get_logger(__name__)

CANCELLED = "cancelled"
SHUTDOWN = "shutdown"
LEASE = "lease-lost"
OUTAGE = "outage"
"""The database or the artifacts' disk does not answer; an attempt that ends this way counts, because the job may be the cause."""


class Attempt:
    """Runs one claim to its end. ``stop`` may be set from any thread, with one of the reasons above."""

    def __init__(
        self,
        claim: Claim,
        *,
        settings: Settings,
        database: Database,
        store: ArtifactStore,
        bulletin: Bulletin,
        toolchain: Toolchain,
        parallel: int,
    ) -> None:
        self.claim = claim
        self.stop = Stop()
        self._settings = settings
        self._database = database
        self._store = store
        self._bulletin = bulletin
        self._toolchain = toolchain
        self._parallel = parallel
        self._state = ""
        self._count = EventCounter()
        self.outage = False
        """Whether it ended because something that every job needs was unavailable."""
        self._blamed = 0
        self._log = log.bind(job=claim.job_id, attempt=claim.attempt)

    def run(self) -> None:
        """Never raises: whatever happens is recorded, or another attempt has the job by now."""
        try:
            self._run()
        except LeaseLost:
            self._log.warning("lease-lost")
        except (*DATABASE_AWAY, Outage) as error:
            self._give_back(error)
        except Exception:  # noqa: BLE001 - a bug ends this job with a record, not the runner
            self._log.exception("attempt-broke")
            self._end_or_give_up(
                lambda session, job: self._fail(
                    session, job, Failure("internal-error", "an unexpected error; see the log")
                )
            )
        finally:
            self._count.end()
            if self._state:
                self._log.info("job-ended", state=self._state)
            clear_contextvars()
            self._bulletin.announce(self.claim.job_id)

    def _run(self) -> None:
        job, request, self._blamed = self._database.read(self._load)
        self._log = self._log.bind(trace=job.trace_id)
        # The request's trace continues in this thread's logs and, through the task runner, into the children.
        bind_contextvars(trace=job.trace_id, job=job.id)
        self._log.info("attempt-started")
        parent = {"traceparent": job.traceparent}
        with telemetry.span(
            "job attempt", kind=SpanKind.CONSUMER, parent=parent, job=job.id, attempt=self.claim.attempt
        ):
            self._tune(job, request)
            telemetry.note(state=self._state or "given-back")

    def _tune(self, job: Job, request: TuneRequest) -> None:
        if self._blamed >= self._settings.max_attempts:
            exhausted = Failure("attempts-exhausted", f"{self._blamed} attempts ended because their runner died")
            self._end(lambda session, held_job: self._fail(session, held_job, exhausted))
            return
        if job.cancel_requested_at is not None:
            self.stop.raise_flag(CANCELLED)
        identity = self._toolchain.identity(request.profile)
        pins_digest = digest_text(dumps(request.pins))
        options = column_of(request.build_options)
        known = KnownCandidates(
            self._database,
            self._store,
            job.id,
            request.profile.digest,
            identity,
            options,
            other_jobs=not job.request.get("fresh", False),
        )
        recorder = Recorder(self._database, self._store, self._bulletin, self.claim, identity, pins_digest, options)
        recorder.reused_from = known.reused_from
        try:
            result = tune(
                request,
                events=self._guarded(recorder),
                toolchain=self._toolchain,
                stop=self.stop,
                known=known,
                parallel=self._parallel,
            )
        except Outage:
            raise
        except WarpwrightError as error:
            failure = Failure(error.code, error.message, error.place)
            self._end(lambda session, held_job: self._fail(session, held_job, failure))
        except StepFailed as error:
            if error.outcome is Outcome.SKIPPED and self.stop.reason in (CANCELLED, SHUTDOWN):
                # Stopped on request before any candidate existed: not a failure.
                ended = TuneResult(Ending.UNKNOWN, None, (), (), partial=True, stopped_by=self.stop.reason)
                self._finish(ended, identity, request.pins, pins_digest)
            else:
                self._infrastructure(error)
        else:
            self._finish(result, identity, request.pins, pins_digest)

    def _guarded(self, recorder: Recorder) -> Callable[[Event], None]:
        """A recorder that stops the children at once if another attempt has the job."""

        def record(event: Event) -> None:
            self._count(event)
            try:
                recorder(event)
            except LeaseLost:
                self.stop.raise_flag(LEASE)
                raise
            except (*DATABASE_AWAY, Outage):
                self.stop.raise_flag(OUTAGE)
                raise

        return record

    def _load(self, session: ReadSession) -> tuple[Job, TuneRequest, int]:
        job = repository.job(session, self.claim.job_id)
        if job is None:
            raise LeaseLost(self.claim.job_id)
        profile = session.get(Profile, job.profile_digest)
        if profile is None:
            raise NotFound(f"profile {job.profile_digest} is gone", code="profile-unknown")
        asked: dict[str, Any] = job.request
        device = domain_profile(profile)
        sizes = repository.sizes(session, job.id)
        request = TuneRequest(
            name=job.name,
            variants=tuple(
                self._variant(row, sizes.get(row.number, ())) for row in repository.variants(session, job.id)
            ),
            profile=device,
            pins=load(Pins, asked["pins"]),
            engine=asked["engine"],
            seed=asked["seed"],
            budget=TuneBudget(**asked["budget"]),
            # Jobs from before there were options have none.
            build_options=build_options(asked.get("build_options", ()), device.family),
            measure=asked["measure"],
        )
        return job, request, blamed_attempts(session, self.claim, (SHUTDOWN,))

    def _variant(self, row: JobVariant, sizes: Sequence[JobSize]) -> Variant:
        return Variant(
            ir=self._store.get(row.text_digest).decode(),
            params=row.params,
            sizes=tuple(Size(size.name, self._store.get(size.text_digest).decode()) for size in sizes),
        )

    def _finish(self, result: TuneResult, identity: Identity, pins: Pins, pins_digest: str) -> None:
        reason = self.stop.reason
        if reason == LEASE:
            raise LeaseLost(self.claim.job_id)
        if reason == SHUTDOWN:
            self._database.write(lambda session: release(session, self.claim, SHUTDOWN))
            return
        state = JobState.CANCELLED if reason == CANCELLED else JobState.DONE

        def end(session: WriteSession, job: Job) -> None:
            self._describe(job, result)
            session.flush()
            hashes = [report.ir_hash for report in result.variants if report.ir_hash]
            pins_document = job.request["pins"]
            remember(session, job, identity, pins_document, pins_digest, hashes)
            self._close(session, job, state)

        self._end(end)

    def _describe(self, job: Job, result: TuneResult) -> None:
        ranking = ranking_of(result.candidates)
        job.ending = result.ending.value
        job.best = result.best
        job.note = _note(result)
        job.partial = result.partial
        job.stopped_by = result.stopped_by
        job.error = asdict(result.failure) if result.failure else None
        job.summary = {
            "variants": [
                {
                    "variant": report.variant,
                    "kernel": report.kernel,
                    "failure": asdict(report.failure) if report.failure else None,
                }
                for report in result.variants
            ],
            "rejected": [asdict(rejected) for rejected in result.rejected],
            "tied": list(ranking.tied),
            "margin": ranking.margin,
        }

    def _infrastructure(self, error: StepFailed) -> None:
        """An infrastructure failure: back to the queue while attempts are left."""
        self._log.warning("infrastructure", code=error.failure.code, message=error.failure.message)
        if self.stop.reason == LEASE:
            return
        self.outage = True
        again = self._blamed + 1 < self._settings.max_attempts and self.stop.reason != CANCELLED
        if again and error.outcome in (Outcome.INFRASTRUCTURE, Outcome.DEVICE_LOST, Outcome.SKIPPED):
            self._database.write(lambda session: release(session, self.claim, error.failure.code))
            return
        self._end(lambda session, job: self._fail(session, job, error.failure))

    def _give_back(self, error: Exception) -> None:
        """The attempt ends and the job waits; if not even that can be written, until its lease has expired."""
        self.outage = True
        self._log.warning("outage", error=str(error)[:300])
        try:
            self._database.write(lambda session: release(session, self.claim, OUTAGE))
        except (*DATABASE_AWAY, Outage, LeaseLost):
            self._log.warning("lease-left-behind")

    def _fail(self, session: WriteSession, job: Job, failure: Failure) -> None:
        job.error = asdict(failure)
        cancelled = self.stop.reason == CANCELLED or job.cancel_requested_at is not None
        self._close(session, job, JobState.CANCELLED if cancelled else JobState.FAILED)

    def _close(self, session: WriteSession, job: Job, state: JobState) -> None:
        job.state = state
        job.ended_at = now()
        job.lease_owner = None
        job.lease_expires_at = None
        session.flush()
        close_attempt(session, self.claim, state.value)
        self._state = state.value
        data = {"state": state.value, "best": job.best, "note": job.note, "partial": job.partial, "error": job.error}
        repository.add_event(session, job.id, self.claim.attempt, "state", data)

    def _end(self, work: Callable[[WriteSession, Job], None]) -> None:
        self._database.write(lambda session: work(session, held(session, self.claim)))

    def _end_or_give_up(self, work: Callable[[WriteSession, Job], None]) -> None:
        try:
            self._end(work)
        except Exception:  # noqa: BLE001 - only the log is left to report to
            # The database itself may be the reason; the lease expires and another attempt follows.
            self._log.exception("end-not-written")


def _note(result: TuneResult) -> str:
    if result.ending is Ending.INFEASIBLE and result.best is None:
        return "infeasible"
    return result.note
