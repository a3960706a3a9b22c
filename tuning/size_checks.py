"""The presumptive winner is checked at the kernel's other sizes before it is delivered.

A schedule may be right in one shape of waves only: with a full last wave, or with more blocks than multiprocessors. Only who
would win is built again for the other sizes: most candidates never win, and a build takes longer than measuring them all.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

from warpwright.solver.domain import Candidate, CandidateKind, Outcome, Schedule, WarpwrightError, digest_text
from warpwright.tuning.outage import Outage
from warpwright.tuning.request import Size, TuneRequest
from warpwright.tuning.toolchain import Built, BuiltSize, Contestant, Measurement, Patience, StepFailed, Toolchain

__all__ = ["NOT_BUILT", "NOT_CHECKED", "RIGHT", "SizeChecks", "size_entries"]

RIGHT, NOT_BUILT, NOT_CHECKED = "right", "not_built", "not_checked"
"""Outcomes of a size that let a candidate win: correct, the schedule has no build at this size, or it was not checked."""

READ_SECONDS = 60.0
OWN_FAULTS = frozenset({Outcome.WRONG_RESULT, Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.LAUNCH_FAILED})
NOBODYS_FAULTS = frozenset({Outcome.INFRASTRUCTURE, Outcome.SKIPPED, Outcome.DEVICE_LOST})


def size_entries(record: Candidate) -> list[dict[str, Any]]:
    """A record's results at other sizes: name, digest of the IR, outcome, message, waves; empty if it was not checked."""
    found = record.measurement.get("sizes")
    return [dict(entry) for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


@dataclass(frozen=True, slots=True)
class SizeChecks:
    """Checks of one tuning. ``patience`` gives each build its limit, ``parallel`` builds run at once."""

    request: TuneRequest
    toolchain: Toolchain
    patience: Callable[[float], Patience]
    parallel: int

    def pending(self, record: Candidate) -> bool:
        """Whether a measured record must be checked first. The reference itself has nothing to be compared with."""
        wanted = [digest_text(size.ir) for size in self.request.variants[record.variant].sizes]
        if record.outcome is not Outcome.MEASURED or record.kind is CandidateKind.UNSPECIALIZED:
            return False
        return wanted != [entry["ir"] for entry in size_entries(record)]

    def confirmed(self, record: Candidate, records: Iterable[Candidate]) -> Candidate:
        """The record with its outcome at every size: still measured, or with the failure that it showed."""
        reference = next((r for r in records if r.kind is CandidateKind.UNSPECIALIZED and r.built), None)
        sizes = self.request.variants[record.variant].sizes
        if reference is None:
            return self._with(record, sizes, [(NOT_CHECKED, "there is no reference")] * len(sizes))
        try:
            builds = self._build_all(record, reference, sizes)
            built = [build for build in builds if isinstance(build, BuiltSize)]
            outcome = self._check(record, reference, built) if built else None
        except StepFailed as error:
            return self._with(record, sizes, [(NOT_CHECKED, error.failure.message)] * len(sizes))
        if isinstance(outcome, StepFailed) and outcome.outcome in OWN_FAULTS:
            entries = self._entries(sizes, [(outcome.outcome.value, outcome.failure.message)] * len(sizes), {})
            measurement = {**record.measurement, **outcome.report, "sizes": entries}
            return replace(
                record, outcome=outcome.outcome, failure=outcome.failure, measured_ns=None, measurement=measurement
            )
        verdict = (RIGHT, "")
        if outcome is None or (isinstance(outcome, StepFailed) and outcome.outcome is not Outcome.CONTENDED):
            verdict = (
                NOT_CHECKED,
                outcome.failure.message if outcome is not None else "the session ended before this check",
            )
        ends = [verdict if isinstance(build, BuiltSize) else (NOT_BUILT, build) for build in builds]
        return self._with(record, sizes, ends, _waves(outcome))

    def _with(
        self,
        record: Candidate,
        sizes: Sequence[Size],
        ends: Sequence[tuple[str, str]],
        waves: dict[str, Any] | None = None,
    ) -> Candidate:
        entries = self._entries(sizes, ends, waves or {})
        return replace(record, measurement={**record.measurement, "sizes": entries})

    def _entries(self, sizes: Sequence[Size], ends: Sequence[tuple[str, str]], waves: dict[str, Any]) -> list[Any]:
        return [
            {
                "name": size.name,
                "ir": digest_text(size.ir),
                "outcome": outcome,
                "message": message,
                "waves": waves.get(size.name),
            }
            for size, (outcome, message) in zip(sizes, ends, strict=True)
        ]

    def _build_all(self, record: Candidate, reference: Candidate, sizes: Sequence[Size]) -> list[BuiltSize | str]:
        """Candidate and reference at every size, or the reason why there is none."""
        plain = {size.name: size.ir for size in self.request.variants[reference.variant].sizes}
        with ThreadPoolExecutor(max_workers=self.parallel, thread_name_prefix="sizes") as pool:
            jobs = [
                (
                    pool.submit(copy_context().run, self._build, size.ir, record.kind, record.schedule),
                    pool.submit(copy_context().run, self._build, plain.get(size.name, ""), reference.kind, None),
                )
                for size in sizes
            ]
            pairs = [(ours.result(), theirs.result()) for ours, theirs in jobs]
        return [
            BuiltSize(size.name, ours, theirs)
            if isinstance(ours, Built) and isinstance(theirs, Built)
            else (ours if isinstance(ours, str) else f"the reference: {theirs}")
            for size, (ours, theirs) in zip(sizes, pairs, strict=True)
        ]

    def _build(self, ir: str, kind: CandidateKind, schedule: Schedule | None) -> Built | str:
        """One build, or the reason why there is none; StepFailed if the reason is not the schedule."""
        if not ir:
            return "the reference's variant has no size with this name"
        profile, seconds = self.request.profile, self.request.budget.compile_seconds
        try:
            if schedule is not None:
                kernel = self.toolchain.read(ir, profile, self.patience(READ_SECONDS))
                if broken := self.toolchain.verify(kernel, profile, schedule):
                    return f"the schedule is illegal at this size: {broken[0].family}: {broken[0].message}"
                ir = self.toolchain.materialize(ir, schedule, profile, self.patience(seconds)).ir
            built = self.toolchain.compile(
                ir, kind, schedule, profile, self.patience(seconds), self.request.build_options
            )
        except Outage:
            raise
        except WarpwrightError as error:
            return error.message
        except StepFailed as error:
            if error.outcome in NOBODYS_FAULTS:
                raise
            return f"{error.outcome.value}: {error.failure.message}"
        if built.not_honoured or not built.binary:
            return "; ".join(built.not_honoured) or "no compiler for this device"
        return built

    def _check(
        self, record: Candidate, reference: Candidate, sizes: Sequence[BuiltSize]
    ) -> Measurement | StepFailed | None:
        """The result of a session with only the two: the first failure, else the last outcome; None if there was no check."""
        candidates = [Contestant(reference), Contestant(record, sizes=tuple(sizes))]
        irs = [variant.ir for variant in self.request.variants]
        patience = self.patience(self.request.budget.measure_seconds * (1 + len(sizes)))
        said: Measurement | StepFailed | None = None
        for candidate, outcome in self.toolchain.measure(candidates, irs, self.request.profile, patience):
            if candidate != record.id:
                continue
            if isinstance(outcome, StepFailed) and outcome.outcome in OWN_FAULTS:
                return outcome
            said = said if isinstance(said, Measurement) else outcome
        return said


def _waves(outcome: Measurement | StepFailed | None) -> dict[str, Any]:
    """Waves by size, as the session's checks report them."""
    record = outcome.record if isinstance(outcome, Measurement) else outcome.report if outcome is not None else {}
    checks = record.get("checks")
    found = [check for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []
    return {str(check.get("size")): check.get("waves") for check in found if check.get("size")}
