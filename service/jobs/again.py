"""A stored job as a submission again: to tune anew, or under further pins."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from warpwright.service.app_context import Context
from warpwright.service.db import ReadSession
from warpwright.service.jobs import repository
from warpwright.service.jobs.schemas import JobSubmission, SizeSubmission, VariantSubmission
from warpwright.service.jobs.service import find
from warpwright.tuning.request import Effort, TuneBudget

__all__ = ["submission_again"]


def submission_again(context: Context, job_id: str, *, pins: Mapping[str, Any] | None = None) -> JobSubmission:
    """The job's own request with the same kernels; ``pins`` replace its pins. It is fresh: cached answers are not taken.

    Raises:
        NotFound: ``job-unknown``; ``artifact-unknown`` where retention has removed a kernel's IR.
    """
    job, variants, sizes = context.database.read(lambda session: _read(session, job_id))
    request = job["request"]
    family = [
        VariantSubmission(
            ir=context.store.get(digest).decode(),
            params=params,
            sizes=[
                SizeSubmission(name=name, ir=context.store.get(text).decode()) for name, text in sizes.get(number, ())
            ],
        )
        for number, digest, params in variants
    ]
    budget = request["budget"]
    return JobSubmission(
        variants=family,
        name=job["name"],
        profile=job["profile"],
        pins=dict(pins) if pins is not None else request["pins"],
        build_options=request.get("build_options", []),
        engine=request["engine"],
        seed=request["seed"],
        effort=_effort(budget),
        candidates=budget["candidates"],
        seconds=budget["wall_seconds"],
        measure=request["measure"],
        fresh=True,
    )


def _read(
    session: ReadSession, job_id: str
) -> tuple[dict[str, Any], list[tuple[int, str, dict[str, Any]]], dict[int, list[tuple[str, str]]]]:
    job = find(session, job_id)
    kept = {"name": job.name, "profile": job.profile_digest, "request": job.request}
    variants = [(row.number, row.text_digest, row.params) for row in repository.variants(session, job_id)]
    sizes = {
        number: [(row.name, row.text_digest) for row in rows]
        for number, rows in repository.sizes(session, job_id).items()
    }
    return kept, variants, sizes


def _effort(budget: Mapping[str, Any]) -> Effort:
    """The effort whose other limits the budget has; candidates and seconds are given besides it."""
    for effort in Effort:
        given = TuneBudget.preset(effort).limited(candidates=budget["candidates"], wall_seconds=budget["wall_seconds"])
        if asdict(given) == dict(budget):
            return effort
    return Effort.NORMAL
