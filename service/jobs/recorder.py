"""Writes the events of a running tuning, each in one transaction that first checks that this attempt still has the job."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

from sqlalchemy import select, update

from warpwright.service.artifacts import repository as artifact_rows
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.candidates import repository as candidate_rows
from warpwright.service.candidates.rows import apply, finite
from warpwright.service.change_notifier import Bulletin
from warpwright.service.db import Database, WriteSession
from warpwright.service.db.models import CandidateRow, Job, JobVariant
from warpwright.service.jobs import repository
from warpwright.service.jobs.claims import Claim, held
from warpwright.service.jobs.states import JobState
from warpwright.service.kernels import repository as kernel_rows
from warpwright.solver.domain import Candidate, media_type
from warpwright.tuning.events import CandidateEnded, Event, PhaseEntered, Proposed, StepStarted, VariantRead
from warpwright.tuning.result import VariantReport
from warpwright.tuning.toolchain import Identity

__all__ = ["Recorder"]


class Recorder:
    """The listener of one attempt's tuning. Every method raises ``LeaseLost`` if another attempt has the job.

    Products are stored before the transaction that names them, so a candidate's row never refers to missing bytes.
    """

    def __init__(
        self,
        database: Database,
        store: ArtifactStore,
        bulletin: Bulletin,
        claim: Claim,
        identity: Identity,
        pins_digest: str,
        build_options: str,
    ) -> None:
        self._database = database
        self._store = store
        self._bulletin = bulletin
        self._claim = claim
        self._identity = identity
        self._pins = pins_digest
        self._build_options = build_options
        self._ir_hashes: dict[int, str] = {}
        self.reused_from: dict[str, str] = {}
        """Candidate ids to the job whose work they reuse."""

    def __call__(self, event: Event) -> None:
        """Store one event, then wake whoever waits for the job."""
        match event:
            case PhaseEntered():
                self._write(lambda session, job: self._phase(session, job, event))
            case VariantRead():
                if event.report.ir_hash:
                    self._ir_hashes[event.report.variant] = event.report.ir_hash
                self._write(lambda session, job: self._variant(session, event.report))
            case Proposed():
                self._write(lambda session, job: self._proposed(session, job, event))
            case StepStarted():
                self._write(
                    lambda session, job: self._event(
                        session, "step", {"candidate": event.candidate, "step": event.step.value}
                    )
                )
            case CandidateEnded():
                products = [
                    (name, self._store.put(data), media_type(name), len(data))
                    for name, data in event.candidate.products.items()
                ]
                self._write(lambda session, job: self._candidate(session, job, event, products))

    def _write(self, work: Callable[[WriteSession, Job], None]) -> None:
        self._database.write(lambda session: work(session, held(session, self._claim)))
        self._bulletin.announce(self._claim.job_id)

    def _event(self, session: WriteSession, kind: str, data: dict[str, object]) -> None:
        repository.add_event(session, self._claim.job_id, self._claim.attempt, kind, data)

    def _phase(self, session: WriteSession, job: Job, event: PhaseEntered) -> None:
        if job.state == event.phase.value:
            return
        job.state = JobState(event.phase.value)
        session.flush()
        self._event(session, "state", {"state": event.phase.value, "attempt": self._claim.attempt})

    def _variant(self, session: WriteSession, report: VariantReport) -> None:
        mine = (JobVariant.job_id == self._claim.job_id) & (JobVariant.number == report.variant)
        if report.ir_hash:
            text = str(session.scalar(select(JobVariant.text_digest).where(mine)))
            kernel_rows.remember(session, report.kernel, report.ir_hash, text)
            session.execute(update(JobVariant).where(mine).values(ir_hash=report.ir_hash))
        failure = asdict(report.failure) if report.failure else None
        self._event(session, "variant", {"variant": report.variant, "kernel": report.kernel, "failure": failure})

    def _proposed(self, session: WriteSession, job: Job, event: Proposed) -> None:
        job.total = event.total
        session.flush()
        self._event(session, "proposed", {"total": event.total, "rejected": event.rejected})

    def _candidate(
        self,
        session: WriteSession,
        job: Job,
        event: CandidateEnded,
        products: Sequence[tuple[str, str, str, int]],
    ) -> None:
        record = event.candidate
        row = candidate_rows.get(session, job.id, record.id)
        if row is not None and _same(row, record):
            job.done = max(job.done, event.done)
            return
        if row is None:
            job.candidate_count += 1
            row = CandidateRow(job_id=job.id, key=record.id, number=job.candidate_count, **self._columns(job, record))
            session.add(row)
        row.attempt = self._claim.attempt
        row.reused_from = self.reused_from.get(record.id)
        apply(row, record)
        job.done = event.done
        session.flush()
        artifact_rows.record(session, [(digest, kind, size) for _, digest, kind, size in products])
        candidate_rows.products(session, job.id, record.id, {name: digest for name, digest, _, _ in products})
        self._event(
            session,
            "candidate",
            {
                "id": record.id,
                "number": row.number,
                "variant": record.variant,
                "kind": record.kind.value,
                "outcome": record.outcome.value,
                "forecast_ns": row.forecast_ns,
                "forecast_cycles": row.forecast_cycles,
                "measured_ns": row.measured_ns,
                "code": record.failure.code if record.failure else None,
                "message": record.failure.message if record.failure else None,
                "done": event.done,
                "total": event.total,
            },
        )

    def _columns(self, job: Job, record: Candidate) -> dict[str, str]:
        return {
            "ir_hash": self._ir_hashes.get(record.variant, ""),
            "profile": job.profile_digest,
            "toolchain": self._identity.toolchain,
            "constraint_set": self._identity.constraint_set,
            "protocol": self._identity.protocol,
            "verification": self._identity.verification,
            "pins": self._pins,
            "build_options": self._build_options,
        }


def _same(row: CandidateRow, record: Candidate) -> bool:
    """Whether a candidate's outcome is already written, its measurement included."""
    return (row.outcome, row.measured_ns, row.measurement) == (
        record.outcome.value,
        record.measured_ns,
        finite(record.measurement),
    )
