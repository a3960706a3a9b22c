"""Timelines and memory maps of a candidate, drawn on demand: the kernel is read in a child, the schedule is simulated."""

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from warpwright.service.app_context import Context
from warpwright.service.dashboard.variant_loader import LoadedVariant, kernel_of, variant_of
from warpwright.service.dashboard.views.plan import certificate_of
from warpwright.service.db import ReadSession
from warpwright.service.db.models import CandidateRow
from warpwright.service.drawing import (
    Drawn,
    Evidence,
    MemoryMap,
    draw_schedule,
    memory_html,
    timeline_svg,
    waterfall_html,
)
from warpwright.service.errors import NotFound
from warpwright.service.jobs import service as jobs
from warpwright.solver.domain import BASELINES, KernelGraph, Schedule, TargetFamily, WarpwrightError, load
from warpwright.solver.forecast import chosen_schedule
from warpwright.tuning.roofline import clock_of
from warpwright.tuning.toolchain import StepFailed

__all__ = ["Picture", "drawing_of", "picture", "pictures"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing as the template shows it; ``label`` names the candidate for a screen reader."""

    label: str
    timelines: tuple[tuple[str, Markup, bool], ...]
    """Title, drawing, and whether it opens on a steady state."""
    facts: tuple[tuple[str, str], ...]
    maps: tuple[tuple[MemoryMap, Markup], ...]
    waterfall: Markup
    """From the proven bound to the forecast and the measurement; empty without a proof."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One candidate with the data that is needed to read its kernel."""

    label: str
    kind: str
    schedule: dict[str, Any] | None
    variant: LoadedVariant
    evidence: Evidence


def drawing_of(context: Context, job_id: str, key: str) -> Picture:
    """The picture of a candidate; of the job's best one if ``key`` is empty.

    If a kernel cannot be read here, the reason replaces the timeline.

    Raises:
        NotFound: ``job-unknown``, ``candidate-unknown``.
    """
    label, drawn = _drawn(context, job_id, key)
    return picture(drawn, label)


def pictures(context: Context, first: tuple[str, str], second: tuple[str, str]) -> list[Picture]:
    """Pictures of two candidates with time axes of equal length, so that bars can be compared by eye; errors as above."""
    named = (("first", first), ("second", second))
    drawn = [(f"{place}: {label}", it) for place, (label, it) in ((p, _drawn(context, *c)) for p, c in named)]
    until = max(each.end_cycle for _, each in drawn) if all(len(d.timelines) == 1 for _, d in drawn) else 0
    return [picture(each, label, until=until) for label, each in drawn]


def picture(drawn: Drawn, label: str, *, until: int = 0) -> Picture:
    """The drawings as SVG."""
    return Picture(
        label,
        tuple((each.title, Markup(timeline_svg(each, until=until)), each.view is not None) for each in drawn.timelines),
        drawn.facts,
        tuple((map_, Markup(memory_html(map_))) for map_ in drawn.maps),
        Markup(waterfall_html(drawn.steps, label)),
    )


def _drawn(context: Context, job_id: str, key: str) -> tuple[str, Drawn]:
    asked = context.database.read(lambda session: _asked(session, job_id, key))
    if asked.schedule is None and asked.variant.profile.family is not TargetFamily.CUDA:
        return asked.label, Drawn(facts=(("Schedule", "the compiler's own choice; its times are not known"),))
    try:
        graph = kernel_of(context, asked.variant).graph
        if asked.schedule is None:
            return asked.label, _compilers_choice(graph, asked)
        schedule: Schedule = load(Schedule, asked.schedule)
        return asked.label, draw_schedule(graph, asked.variant.profile, schedule, asked.evidence)
    except (StepFailed, WarpwrightError) as error:
        return asked.label, Drawn(facts=(("No timeline", _words(error)),))


def _compilers_choice(graph: KernelGraph, asked: _Asked) -> Drawn:
    """A baseline as we read the compiler's passes: a forecast of their choice, and labelled as such."""
    kind = next((each for each in BASELINES if each == asked.kind), None)
    chosen = chosen_schedule(graph, asked.variant.profile, kind) if kind else None
    if chosen is None:
        return Drawn(facts=(("Schedule", "the compiler's own choice: no warp specialisation, so no roles to draw"),))
    drawn = draw_schedule(graph, asked.variant.profile, chosen[0])
    note = (
        "Schedule",
        "the compiler's own choice according to the source of its passes; not read back from the binary",
    )
    return Drawn(drawn.timelines, (note, *drawn.facts), drawn.maps)


def _words(error: StepFailed | WarpwrightError) -> str:
    return error.failure.message if isinstance(error, StepFailed) else error.message


def _asked(session: ReadSession, job_id: str, key: str) -> _Asked:
    job = jobs.find(session, job_id)
    row = session.get(CandidateRow, (job_id, key or job.best or ""))
    if row is None:
        raise NotFound(f"job {job_id} has no candidate {key[:80]!r}", code="candidate-unknown")
    label = f"{row.kind.replace('_', ' ')} {row.number}"
    evidence = Evidence(certificate_of(row.certificate), row.measured_ns, clock_of(row.measurement))
    return _Asked(label, row.kind, row.schedule, variant_of(session, job_id, row.variant), evidence)
