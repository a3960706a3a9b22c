"""Two candidates side by side: times, schedules, and the difference of their sources."""

import difflib
from dataclasses import dataclass

from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.candidates import repository as candidates
from warpwright.service.candidates.sentences import registers_of
from warpwright.service.dashboard.views.jobpage import candidate_of
from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow
from warpwright.service.errors import NotFound
from warpwright.service.jobs import service as jobs

__all__ = ["CandidateComparison", "Difference", "candidate_named", "compare"]

SOURCES = ("tilelang_source", "plain_source", "cuda_source", "ascend_source")
SHOWN_LINES = 2000


@dataclass(frozen=True, slots=True)
class Difference:
    """A unified diff of one product that both have; lines are tagged ``add``, ``drop``, ``place`` or ``same``."""

    product: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CandidateComparison:
    """Both candidates, and how much faster the first is: measured if both were, otherwise by forecast, and labelled so."""

    first: CandidateRow
    second: CandidateRow
    ratio: float | None
    measured: bool
    together: bool
    """Whether both times are of the same interleaved rounds."""
    names: dict[str, str]
    """Kernel names by job."""
    rows: tuple[tuple[str, str, str], ...]
    differences: tuple[Difference, ...]


def compare(session: ReadSession, store: ArtifactStore, a: str, b: str) -> CandidateComparison:
    """The comparison of two references, each ``job/candidate`` or a job.

    Raises:
        NotFound: ``job-unknown``, ``winner-unknown``, ``candidate-unknown``.
    """
    (first, first_products), (second, second_products) = (
        candidate_of(session, *candidate_named(session, reference)) for reference in (a, b)
    )
    measured = bool(first.measured_ns and second.measured_ns)
    times = (first.measured_ns, second.measured_ns) if measured else (first.forecast, second.forecast)
    params = [candidates.params_of_variants(session, row.job_id).get(row.variant, {}) for row in (first, second)]
    rows = [
        (name, str(params[0].get(name, "–")), str(params[1].get(name, "–")))
        for name in dict.fromkeys([*params[0], *params[1]])
    ]
    rows += [
        (name, str(first.structure.get(name, "–")), str(second.structure.get(name, "–")))
        for name in dict.fromkeys([*first.structure, *second.structure])
    ]
    rows += [
        (label, _certified(first, key), _certified(second, key))
        for label, key in (
            ("initiation interval, cycles", "initiation_interval_cycles"),
            ("whole kernel, cycles", "total_cycles"),
            ("on-chip bytes", "on_chip_bytes"),
            ("synchronisations", "synchronisations"),
        )
    ]
    read_back = [registers_of(row.report) for row in (first, second)]
    rows += [
        (name, read_back[0][n], read_back[1][n])
        for n, name in enumerate(("registers (ptxas)", "spilled bytes (ptxas)"))
    ]
    differences = [
        _difference(product, _text(store, first_products[product]), _text(store, second_products[product]))
        for product in SOURCES
        if product in first_products and product in second_products
    ]
    ratio = times[1] / times[0] if times[0] and times[1] else None
    names = {row.job_id: jobs.find(session, row.job_id).name for row in (first, second)}
    sessions = [row.measurement.get("session") for row in (first, second)]
    together = first.job_id == second.job_id and sessions[0] is not None and sessions[0] == sessions[1]
    return CandidateComparison(first, second, ratio, measured, together, names, tuple(rows), tuple(differences))


def candidate_named(session: ReadSession, reference: str) -> tuple[str, str]:
    """Job and key of a reference, ``job/candidate`` or a job for its winner.

    Raises:
        NotFound: ``job-unknown``, ``winner-unknown``.
    """
    job_id, _, key = reference.partition("/")
    if not key:
        job = jobs.find(session, job_id)
        if not job.best:
            raise NotFound(f"job {job_id[:80]} has no winner; name a candidate as job/candidate", code="winner-unknown")
        key = job.best
    return job_id, key


def _certified(row: CandidateRow, key: str) -> str:
    value = (row.certificate or {}).get(key)
    return "–" if value is None else f"{value:,}"


def _text(store: ArtifactStore, digest: str) -> list[str]:
    return store.get(digest).decode("utf-8", "replace").splitlines()


def _difference(product: str, first: list[str], second: list[str]) -> Difference:
    tags = {"+": "add", "-": "drop", "@": "place"}
    lines = list(difflib.unified_diff(first, second, "first", "second", lineterm="", n=3))[:SHOWN_LINES]
    return Difference(product.replace("_", " "), tuple((tags.get(line[:1], "same"), line) for line in lines))
