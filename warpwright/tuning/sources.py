"""Where ``@tuned`` looks schedules up: a lock file, a server, or the service in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lowering.compile.options import column_of
from lowering.frontend.irhash import ir_hash
from service.results.schemas import LookupRequest
from solver.domain import HardwareProfile, Schedule, documents
from warpwright.client import Client
from warpwright.kernel_file import KernelFile, KernelVariant
from warpwright.lock import read_lock
from warpwright.remote import submission_of, tune_there

__all__ = ["Choice", "ClientSource", "LockSource", "Source"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What is known to be best: a schedule, or one of the compiler's own choices by its kind."""

    kind: str
    schedule: Schedule | None
    origin: str


class Source(Protocol):
    """Finds the best known choice for IR on a device, and may find a better one."""

    def find(self, ir: str, profile: HardwareProfile) -> Choice | None:
        """What is known, None when nothing is. May raise anything: the decorator falls back to the compiler's default."""
        ...

    def improve(self, name: str, ir: str, profile: HardwareProfile) -> None:
        """Tune, so that the next ``find`` knows more. May take long; called off the caller's thread when asked for."""
        ...


class LockSource:
    """The entries of a lock file, by the kernel's hash and the profile's digest; only those with these build options.

    Read again when the file changes.
    """

    def __init__(self, path: Path, *, build_options: Sequence[str] = ()) -> None:
        self._path = path
        self._options = column_of(build_options)
        self._stamp: tuple[int, int] | None = None
        self._known: dict[tuple[str, str], Choice] = {}

    def find(self, ir: str, profile: HardwareProfile) -> Choice | None:
        """The locked choice.

        Raises:
            LockError: the file is missing or damaged.
        """
        status = self._path.stat() if self._path.exists() else None
        stamp = (status.st_mtime_ns, status.st_size) if status is not None else None
        if stamp is None or stamp != self._stamp:
            self._known = {
                (entry.ir_hash, entry.profile_digest): Choice(entry.kind, entry.schedule, str(self._path))
                for entry in read_lock(self._path)
                if column_of(entry.build_options) == self._options
            }
            self._stamp = stamp
        return self._known.get((ir_hash(ir), profile.digest))

    def improve(self, name: str, ir: str, profile: HardwareProfile) -> None:
        """Nothing: a lock file changes by ``warpwright lock`` only."""


class ClientSource:
    """Stored results of a server, or of the service in this process. ``connect`` opens a client for each use."""

    def __init__(
        self, connect: Callable[[bool], Client], *, effort: str = "normal", build_options: Sequence[str] = ()
    ) -> None:
        self._connect = connect
        self._effort = effort
        self._options = list(build_options)

    def find(self, ir: str, profile: HardwareProfile) -> Choice | None:
        """The stored result of exactly this kernel on this device with the present toolchain and these build options."""
        request = LookupRequest(ir=ir, profile=documents.dump(profile), build_options=self._options)
        with self._connect(False) as client:
            answer = client.lookup(request)
        if not answer.found or answer.result is None:
            return None
        document = answer.result.get("schedule")
        schedule: Schedule | None = documents.load(Schedule, document) if document else None
        return Choice(str(answer.result["kind"]), schedule, f"job {answer.result['job']}")

    def improve(self, name: str, ir: str, profile: HardwareProfile) -> None:
        """Tunes and waits; the result is stored where ``find`` looks."""
        kernel = KernelFile(name, (KernelVariant(ir),))
        with self._connect(True) as client:
            tune_there(client, submission_of(kernel, profile, effort=self._effort, build_options=self._options))
