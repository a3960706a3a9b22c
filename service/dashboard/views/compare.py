"""Two candidates side by side: times, schedules, and the difference of their sources."""

import difflib
from dataclasses import dataclass

from service.artifacts.store import ArtifactStore
from service.dashboard.views.jobpage import candidate_of
from service.db import ReadSession
from service.db.models import Candidate
from service.errors import NotFound
from service.jobs import repository

__all__ = ["Comparison", "Difference", "compare"]

SOURCES = ("tilelang_source", "cuda_source", "ascend_source")
SHOWN_LINES = 2000


@dataclass(frozen=True, slots=True)
class Difference:
    """A unified difference of one product that both have; lines are tagged ``add``, ``drop``, ``place`` or ``same``."""

    product: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both candidates, and by how much the first is faster when both were measured (else by forecast, said so)."""

    first: Candidate
    second: Candidate
    ratio: float | None
    measured: bool
    rows: tuple[tuple[str, str, str], ...]
    differences: tuple[Difference, ...]


def compare(session: ReadSession, store: ArtifactStore, a: str, b: str) -> Comparison:
    """The comparison of two references, each ``job/candidate`` or a job.

    Raises:
        NotFound: ``job-not-found``, ``candidate-not-found``.
    """
    (first, first_products), (second, second_products) = _find(session, a), _find(session, b)
    measured = bool(first.measured_ns and second.measured_ns)
    times = (first.measured_ns, second.measured_ns) if measured else (first.forecast_ns, second.forecast_ns)
    rows = [
        (name, str(first.structure.get(name, "–")), str(second.structure.get(name, "–")))
        for name in dict.fromkeys([*first.structure, *second.structure])
    ]
    rows += [
        (label, _certified(first, key), _certified(second, key))
        for label, key in (
            ("initiation interval, cycles", "initiation_interval_cycles"),
            ("on-chip bytes", "on_chip_bytes"),
            ("synchronisations", "synchronisations"),
        )
    ]
    differences = [
        _difference(product, _text(store, first_products[product]), _text(store, second_products[product]))
        for product in SOURCES
        if product in first_products and product in second_products
    ]
    ratio = times[1] / times[0] if times[0] and times[1] else None
    return Comparison(first, second, ratio, measured, tuple(rows), tuple(differences))


def _find(session: ReadSession, reference: str) -> tuple[Candidate, dict[str, str]]:
    job_id, _, key = reference.partition("/")
    if not key:
        job = repository.job(session, job_id)
        if job is None or not job.best:
            raise NotFound(f"there is no job {job_id!r} with a winner", code="job-not-found")
        key = job.best
    return candidate_of(session, job_id, key)


def _certified(row: Candidate, key: str) -> str:
    value = (row.certificate or {}).get(key)
    return "–" if value is None else f"{value:,}"


def _text(store: ArtifactStore, digest: str) -> list[str]:
    return store.get(digest).decode("utf-8", "replace").splitlines()


def _difference(product: str, first: list[str], second: list[str]) -> Difference:
    tags = {"+": "add", "-": "drop", "@": "place"}
    lines = list(difflib.unified_diff(first, second, "first", "second", lineterm="", n=3))[:SHOWN_LINES]
    return Difference(product.replace("_", " "), tuple((tags.get(line[:1], "same"), line) for line in lines))
