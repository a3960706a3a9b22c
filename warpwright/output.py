"""The files below ``--out DIR``: the result document, a report, and for every candidate its schedule, sources and binary."""

import json
from pathlib import Path

from warpwright.client import Client
from warpwright.result import Result, candidate_document
from warpwright.solver.domain import Candidate, documents

__all__ = ["FILE_NAMES", "write_candidates", "write_result"]

FILE_NAMES = {
    "tilelang_source": "kernel.py",
    "plain_source": "plain_kernel.py",
    "cuda_source": "kernel.cu",
    "ascend_source": "kernel.asc",
    "ir": "ir.json",
    "binary": "kernel.so",
}
"""File names of products; any other product is written under its own name."""


def write_result(result: Result, client: Client, folder: Path) -> tuple[Path, ...]:
    """Writes everything under ``folder`` and returns the files that a person looks at first.

    The report comes last, from the service that ran the job, so that the results are on disk even if it cannot be drawn.
    """
    write_candidates(result, folder)
    first: list[Path] = []
    best = result.best
    if best is not None and best.schedule is not None:
        (folder / "schedule.json").write_text(documents.dumps(best.schedule) + "\n", "utf-8")
        first.append(folder / "schedule.json")
    if best is not None and best.source:
        (folder / "kernel.py").write_text(best.source, "utf-8")
        first.append(folder / "kernel.py")
    for name in ("cuda_source", "ascend_source"):
        # Of the compiler's own choice this is the only text in which its schedule shows.
        if best is not None and name in best.products and (best.schedule is None or name == "ascend_source"):
            (folder / FILE_NAMES[name]).write_bytes(best.products[name])
            first.append(folder / FILE_NAMES[name])
    report = folder / "report.html"
    report.write_text(client.report(result.job), "utf-8")
    return (report, *first, folder / "result.json")


def write_candidates(result: Result, folder: Path) -> None:
    """The result document, and a folder for every candidate."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps(result.to_json(), indent=1) + "\n", "utf-8")
    for candidate in result.candidates:
        _write_candidate(candidate, folder / "candidates" / candidate.id.removeprefix("sha256:")[:16])


def _write_candidate(candidate: Candidate, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "candidate.json").write_text(json.dumps(candidate_document(candidate), indent=1) + "\n", "utf-8")
    if candidate.schedule is not None:
        (folder / "schedule.json").write_text(documents.dumps(candidate.schedule) + "\n", "utf-8")
    for name, data in candidate.products.items():
        safe = "".join(letter for letter in name if letter.isalnum() or letter in "._-") or "product"
        (folder / FILE_NAMES.get(name, safe)).write_bytes(data)
