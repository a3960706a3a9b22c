"""A tuning's candidates as a bundle's contents: what is measured on a machine without a network or a database."""

from pathlib import Path

from warpwright.lowering.compile import CompiledKernel, from_document
from warpwright.lowering.measure.runner import MeasureJob
from warpwright.result import Result
from warpwright.solver.domain import Candidate, CandidateKind
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.tuning.bundle import Contents
from warpwright.tuning.measure.seats import seats_of
from warpwright.tuning.measuring import in_order
from warpwright.tuning.roofline_floor import floor_in

__all__ = ["contents_of"]


def contents_of(result: Result, folder: Path) -> Contents:
    """Every candidate with a binary, its reference beside it; binaries are written under ``folder``.

    Raises:
        WarpwrightError: ``bundle-empty`` when no candidate has a binary, ``bundle-no-reference`` without the reference.
    """
    usable = [candidate for candidate in result.candidates if candidate.products.get("binary") and candidate.report]
    built = in_order(usable)
    if not built:
        raise WarpwrightError("no candidate of this job has a binary", code="bundle-empty", place=result.job)
    kernels = {candidate.id: _kernel(candidate, folder) for candidate in built}
    reference = next(
        (kernels[candidate.id] for candidate in built if candidate.kind is CandidateKind.UNSPECIALIZED), None
    )
    if reference is None:
        raise WarpwrightError(
            "the unspecialized build is missing, and without it nothing can be checked",
            code="bundle-no-reference",
            place=result.job,
        )
    seats = seats_of(built)
    return Contents(
        jobs=tuple(
            MeasureJob(
                candidate.id,
                kernels[candidate.id],
                reference,
                floor_ns=floor_in(candidate.report),
                expected_ns=candidate.forecast_ns or 0.0,
            )
            for candidate in built
        ),
        origin=result.job or result.kernel,
        profile=result.profile,
        preference=tuple(seats["preference"]),
        always_final=tuple(seats["always_final"]),
        baselines=tuple(seats["baselines"]),
    )


def _kernel(candidate: Candidate, folder: Path) -> CompiledKernel:
    path = folder / f"{candidate.id.removeprefix('sha256:')}.so"
    path.write_bytes(candidate.products["binary"])
    return from_document({**candidate.report, "source": "", "binary": str(path)})
