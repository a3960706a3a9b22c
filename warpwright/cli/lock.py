"""``warpwright lock`` and ``warpwright build``: commit what was chosen, build exactly that."""

import sys
from pathlib import Path

from warpwright.cli.connect import check_tuning, client_of
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.inputs import (
    build_options_of,
    kernel_of,
    profile_file_of,
    profile_of,
    writable_file,
    writable_folder,
)
from warpwright.cli.options import LockOptions
from warpwright.cli.progress import TuningProgress
from warpwright.cli.tune import effort_of, stoppable
from warpwright.errors import LockError
from warpwright.extras import needs
from warpwright.kernel_file import KernelFile, parse_setting, read_kernel_file
from warpwright.lock import (
    BuiltKernel,
    LockEntry,
    build_locked,
    check_entry,
    entry_of,
    read_lock,
    update_lock,
    write_lock,
)
from warpwright.remote import submission_of, tune_there
from warpwright.result import Result
from warpwright.solver.domain import HardwareProfile
from warpwright.tuning.partial_reasons import INTERRUPTED

__all__ = ["run_build", "run_lock"]

STALE = frozenset({"lock-ir", "lock-profile", "lock-toolchain", "lock-variant", "lock-illegal"})
"""Differences that a new tuning can repair; a damaged lock file is not among them."""


def run_lock(options: LockOptions) -> ExitCode:
    """Writes the best schedule known for the kernel into the lock file; tunes first where none is known.

    Raises:
        LockError: no candidate is usable, or the lock file is damaged.
    """
    check_tuning(options.server)
    profile = profile_of(options.profile)
    if options.lock.exists():
        read_lock(options.lock)  # report a damaged one now, not after the tuning
    else:
        writable_folder(options.lock.parent)
    kernel = kernel_of(options.file, options.function, options.settings)
    result = _tuned(kernel, profile, options)
    if result.stopped_by in INTERRUPTED:  # a partial answer does not belong in a repository
        sys.stderr.write(f"interrupted: {options.lock} was not changed; what was built and measured is remembered\n")
        return ExitCode.INTERRUPTED
    entry = entry_of(
        result, kernel, profile, file=options.file, lock=options.lock, function=options.function,
        settings=dict(map(parse_setting, options.settings)), profile_file=profile_file_of(options.profile),
    )  # fmt: skip
    update_lock(options.lock, [entry])
    sys.stdout.write(f"locked {entry.kernel} for {entry.profile} ({entry.kind}, {entry.note}) in {options.lock}\n")
    return ExitCode.PARTIAL if result.partial else ExitCode.OK


def run_build(lock: Path, out: Path, *, locked: bool, source_only: bool, depfile: Path | None = None) -> ExitCode:
    """Builds what the lock file names. ``locked``: any difference ends the build; else stale entries are tuned again.

    Raises:
        ExtraMissing: TileLang is not installed.
        LockError: a difference, a damaged file, or an entry that does not build.
    """
    needs("building kernels", "kernels")
    writable_folder(out)
    if depfile is not None:
        writable_file(depfile)
    if not locked:
        _refresh(lock)
    with TuningProgress(lock.name) as progress:
        built = build_locked(lock, out, source_only=source_only, depfile=depfile, progress=progress.note)
    for each in built:
        sys.stdout.write(_line(each))
    return ExitCode.OK


def _refresh(lock: Path) -> None:
    entries = read_lock(lock)
    fresh = [_refreshed(entry, lock) for entry in entries]
    if list(entries) != fresh:
        write_lock(lock, fresh)


def _refreshed(entry: LockEntry, lock: Path) -> LockEntry:
    try:
        check_entry(entry, lock.resolve().parent)
    except LockError as error:
        if error.code not in STALE:
            raise
        sys.stderr.write(f"{entry.kernel} for {entry.profile}: {error.message}; tuning again\n")
        check_tuning(None)
    else:
        return entry
    file = lock.resolve().parent / entry.file
    profile_file = lock.resolve().parent / entry.profile_file if entry.profile_file is not None else None
    profile = profile_of(str(profile_file) if profile_file is not None else entry.profile)
    kernel = read_kernel_file(file, function=entry.function, settings=entry.settings)
    options = LockOptions(file, entry.profile, entry.function, lock=lock, build_options=list(entry.build_options))
    result = _tuned(kernel, profile, options)
    return entry_of(
        result, kernel, profile, file=file, lock=lock, function=entry.function, settings=entry.settings,
        profile_file=profile_file,
    )  # fmt: skip


def _tuned(kernel: KernelFile, profile: HardwareProfile, options: LockOptions) -> Result:
    submission = submission_of(
        kernel,
        profile,
        effort=effort_of(options.effort).value,
        candidates=options.candidates,
        seconds=options.budget,
        build_options=build_options_of(options.build_options, profile),
    )
    with (
        TuningProgress(options.file.name) as progress,
        stoppable() as stop,
        client_of(options.server, options.token) as client,
    ):
        return tune_there(client, submission, stop=stop, events=progress, poll_seconds=0.3)


def _line(built: BuiltKernel) -> str:
    return f"built {built.entry.kernel} for {built.entry.profile}: {built.folder} ({', '.join(built.files)})\n"
