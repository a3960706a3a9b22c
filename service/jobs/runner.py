"""The job runner: claims jobs, runs each in a thread, renews their leases, passes cancellations on.

Any number of runners may work on one database. A runner has a new name in every process, so that a restarted machine never
mistakes its predecessor's jobs for its own; they return when their lease expires.
"""

import os
import platform
import secrets
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta

import structlog

from warpwright.service.artifacts.store import ArtifactsAway, ArtifactStore
from warpwright.service.change_notifier import Bulletin
from warpwright.service.db import DATABASE_AWAY, Database
from warpwright.service.jobs import repository
from warpwright.service.jobs.attempt import CANCELLED, LEASE, SHUTDOWN, Attempt
from warpwright.service.jobs.claims import Claim, claim, renew
from warpwright.service.settings import Settings
from warpwright.tuning.children import parallel_slots
from warpwright.tuning.task_runners.local import COMPILE_MEMORY_BYTES
from warpwright.tuning.toolchain import Toolchain

__all__ = ["Runner"]

log = structlog.get_logger(__name__)

IDLE_SECONDS = 0.5
WATCH_SECONDS = 0.25
OUTAGE_SECONDS = 2.0


class Runner:
    """Runs up to ``settings.job_slots`` jobs at a time. ``start`` and ``stop`` once each."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        store: ArtifactStore,
        bulletin: Bulletin,
        toolchain: Toolchain,
    ) -> None:
        self.name = f"{platform.node()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"
        self._settings = settings
        self._database = database
        self._store = store
        self._bulletin = bulletin
        self._toolchain = toolchain
        self._lease = timedelta(seconds=settings.lease_seconds)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._attempts: dict[Claim, Attempt] = {}
        # By claim, not by job: an expired lease may be claimed again by another slot of this process.
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start claiming."""
        for number in range(self._settings.job_slots):
            self._thread(self._slot, f"jobs-{number}")
        if self._settings.job_slots:
            self._thread(self._beat, "jobs-beat")
            self._thread(self._watch, "jobs-watch")

    def stop(self) -> None:
        """Give running jobs back to the queue and wait until their children have ended."""
        self._stopping.set()
        self._wake.set()
        with self._lock:
            running = list(self._attempts.values())
        for attempt in running:
            attempt.stop.raise_flag(SHUTDOWN)
        for thread in self._threads:
            thread.join(timeout=self._settings.shutdown_seconds)

    def wake(self) -> None:
        """Check for work now: a job was submitted in this process."""
        self._wake.set()

    def cancel(self, job_id: str) -> None:
        """Stop a job of this runner at once; other runners see the request in the database."""
        with self._lock:
            attempts = [attempt for claimed, attempt in self._attempts.items() if claimed.job_id == job_id]
        for attempt in attempts:
            attempt.stop.raise_flag(CANCELLED)

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the jobs that run here."""
        with self._lock:
            return tuple(claimed.job_id for claimed in self._attempts)

    def _thread(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _slot(self) -> None:
        while not self._stopping.is_set():
            try:
                claimed = self._database.write(lambda session: claim(session, self.name, self._lease))
            except Exception:
                log.exception("claim-broke")
                self._stopping.wait(2.0)
                continue
            if claimed is None:
                self._wake.wait(IDLE_SECONDS)
                self._wake.clear()
                continue
            self._work(claimed)

    def _work(self, claimed: Claim) -> None:
        attempt = Attempt(
            claimed,
            settings=self._settings,
            database=self._database,
            store=self._store,
            bulletin=self._bulletin,
            toolchain=self._toolchain,
            parallel=self._settings.build_slots or parallel_slots(COMPILE_MEMORY_BYTES),
        )
        with self._lock:
            self._attempts[claimed] = attempt
        if self._stopping.is_set():
            attempt.stop.raise_flag(SHUTDOWN)
        self._bulletin.announce(claimed.job_id)
        try:
            attempt.run()
        finally:
            with self._lock:
                del self._attempts[claimed]
        if attempt.outage:
            self._until_able()

    def _until_able(self) -> None:
        """After an attempt ended because something that every job needs was unavailable: take no other job until it is back."""
        told = ""
        while (missing := self._missing()) and not self._stopping.is_set():
            if missing != told:
                told = missing
                log.warning("runner-waits", missing=missing)
            self._stopping.wait(OUTAGE_SECONDS)

    def _missing(self) -> str:
        try:
            self._store.check()
            self._database.ping()
        except (*DATABASE_AWAY, ArtifactsAway) as error:
            return str(error)[:200]
        return "" if self._toolchain.available() else "the task runner"

    def _held(self) -> list[Claim]:
        with self._lock:
            return list(self._attempts)

    def _beat(self) -> None:
        while not self._stopping.wait(self._settings.heartbeat_seconds):
            claims = self._held()
            if not claims:
                continue
            try:
                self._renew(claims)
            except Exception:
                log.exception("heartbeat-broke")

    def _renew(self, claims: Sequence[Claim]) -> None:
        kept = self._database.write(lambda session: renew(session, self.name, claims, self._lease))
        for claimed in claims:
            if claimed not in kept:
                self._lose(claimed)

    def _lose(self, claimed: Claim) -> None:
        """Another attempt has the job, or it ended a moment ago."""
        with self._lock:
            attempt = self._attempts.get(claimed)
        if attempt is not None:
            attempt.stop.raise_flag(LEASE)

    def _watch(self) -> None:
        """Pass on cancellations that another process wrote; a cancelled job's children end within a second."""
        while not self._stopping.wait(WATCH_SECONDS):
            if not self._held():
                continue
            try:
                for job_id, _, cancel_requested in self._database.read(
                    lambda session: repository.running_of(session, self.name)
                ):
                    if cancel_requested:
                        self.cancel(job_id)
            except Exception:
                log.exception("watch-broke")
