"""Where ``@tuned`` looks schedules up: a lock file, a server, or the service in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from warpwright.client import Client
from warpwright.kernel_file import KernelFile, KernelVariant
from warpwright.lock import LockEntry, check_toolchain, read_lock
from warpwright.lowering.compile.options import column_of
from warpwright.lowering.frontend.irhash import ir_hash
from warpwright.remote import submission_of, tune_there
from warpwright.service.results.schemas import LookupRequest
from warpwright.service.results.stored_answer import StoredAnswer
from warpwright.solver.domain import HardwareProfile, Schedule, documents

__all__ = ["ClientSource", "KnownChoice", "LockSource", "Source"]


@dataclass(frozen=True, slots=True)
class KnownChoice:
    """What is known to be best: a schedule, or one of the compiler's own choices by its kind."""

    kind: str
    schedule: Schedule | None
    origin: str
    variant: int = 0
    """Which of the variants that were asked about."""


class Source(Protocol):
    """Finds the best known choice for a kernel on a device, and can search for a better one.

    ``variants`` are the IR texts of the kernel family, the default first; one text for a single kernel.
    """

    def find(self, variants: Sequence[str], profile: HardwareProfile) -> KnownChoice | None:
        """The best known choice among all variants, or None. May raise anything: the default runs then."""
        ...

    def improve(self, name: str, variants: Sequence[str], profile: HardwareProfile) -> None:
        """Tunes, so that the next ``find`` knows more. May take long; runs in another thread if that was asked for."""
        ...


class LockSource:
    """The entries of a lock file, by the kernel's hash and the profile's digest; only those with the same build options.

    Read again when the file changes.
    """

    def __init__(self, path: Path, *, build_options: Sequence[str] = ()) -> None:
        self._path = path
        self._options = column_of(build_options)
        self._stamp: tuple[int, int] | None = None
        self._known: dict[tuple[str, str], LockEntry] = {}

    def find(self, variants: Sequence[str], profile: HardwareProfile) -> KnownChoice | None:
        """The locked choice.

        Raises:
            LockError: the file is missing or damaged; ``lock-toolchain``: it was made with another TileLang.
        """
        status = self._path.stat() if self._path.exists() else None
        stamp = (status.st_mtime_ns, status.st_size) if status is not None else None
        if stamp is None or stamp != self._stamp:
            self._known = {
                (entry.ir_hash, entry.profile_digest): entry
                for entry in read_lock(self._path)
                if column_of(entry.build_options) == self._options
            }
            self._stamp = stamp
        for number, ir in enumerate(variants):
            if (entry := self._known.get((ir_hash(ir), profile.digest))) is not None:
                check_toolchain(entry, profile.family)
                return KnownChoice(entry.kind, entry.schedule, str(self._path), number)
        return None

    def improve(self, name: str, variants: Sequence[str], profile: HardwareProfile) -> None:
        """Does nothing: only ``warpwright lock`` changes a lock file."""


class ClientSource:
    """Stored results of a server, or of the service in this process. ``connect`` opens a client for each use."""

    def __init__(
        self, connect: Callable[[bool], Client], *, effort: str = "normal", build_options: Sequence[str] = ()
    ) -> None:
        self._connect = connect
        self._effort = effort
        self._options = list(build_options)

    def find(self, variants: Sequence[str], profile: HardwareProfile) -> KnownChoice | None:
        """The best stored result of these variants on this device, with the installed toolchain and these build options."""
        with self._connect(False) as client:
            known = [(self._lookup(client, ir, profile), number) for number, ir in enumerate(variants)]
        found = [(_rank(result), number, result) for result, number in known if result is not None]
        if not found:
            return None
        _, number, best = min(found, key=lambda entry: entry[:2])
        return KnownChoice(best.kind, best.schedule, f"job {best.job}", number)

    def _lookup(self, client: Client, ir: str, profile: HardwareProfile) -> StoredAnswer | None:
        request = LookupRequest(ir=ir, profile=documents.dump(profile), build_options=self._options)
        answer = client.lookup(request)
        return answer.result if answer.found else None

    def improve(self, name: str, variants: Sequence[str], profile: HardwareProfile) -> None:
        """Tunes and waits; the result is stored where ``find`` looks."""
        kernel = KernelFile(name, tuple(map(KernelVariant, variants)))
        with self._connect(True) as client:
            tune_there(client, submission_of(kernel, profile, effort=self._effort, build_options=self._options))


def _rank(result: StoredAnswer) -> tuple[bool, float]:
    """The order of stored results: measured ones first, then by time."""
    return not result.measured, result.time_ns if result.time_ns is not None else float("inf")
