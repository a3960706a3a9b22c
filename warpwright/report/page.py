"""The report page: one self-contained HTML file. Every name is escaped; no other host is asked for anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from service.drawing import Lane, MemoryMap, drawing_css, memory_svg, timeline_svg
from solver.domain import ROOT, HardwareProfile, Instruction, OpRef, ScopeProgram, WarpSchedule
from warpwright.result import Candidate, Result
from warpwright.words import describe, microseconds, proof_line, registers_of, structure_words

__all__ = ["Row", "render_page"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the candidates table, as text."""

    best: bool
    kind: str
    params: str
    structure: str
    forecast: str
    measured: str
    interval: str
    registers: str
    spills: str
    outcome: str
    reason: str


def render_page(
    result: Result,
    profile: HardwareProfile,
    *,
    lanes: Sequence[Lane] = (),
    facts: Sequence[tuple[str, str]] = (),
    maps: Sequence[MemoryMap] = (),
) -> str:
    """The page of a result; ``lanes``, ``facts`` and ``maps`` draw the chosen schedule where there is one."""
    best = result.best
    registers, spills = registers_of(best.report) if best else ("-", "-")
    warp = best.schedule if best and isinstance(best.schedule, WarpSchedule) else None
    return _template().render(
        result=result,
        profile=profile,
        best=best,
        best_words=describe(best) if best else "",
        best_time=_time(best),
        gain=gain_over_default(result),
        proof=proof_line(best.certificate, best.status) if best and best.certificate else "",
        registers=registers,
        spills=spills,
        words=structure_words,
        rows=[_row(candidate, best) for candidate in result.candidates],
        drawing_css=Markup(drawing_css()),
        timeline=Markup(timeline_svg(lanes, title=f"Timeline of {result.kernel}")),
        facts=facts,
        maps=[(map_, Markup(memory_svg(map_))) for map_ in maps],
        warp=warp is not None,
        programs=[_program(program) for program in warp.scopes] if warp else [],
        version=_version(),
    )


def gain_over_default(result: Result) -> str:
    """How much faster than the compiler's default, measured or forecast, in words; empty when one of them is missing."""
    default = next((each for each in result.candidates if each.kind == "default"), None)
    best = result.best
    if default is None or best is None or default is best:
        return ""
    if default.measured_ns and best.measured_ns:
        return _ratio(default.measured_ns / best.measured_ns, "measured")
    if default.forecast_ns and best.forecast_ns and best.measured_ns is None:
        return _ratio(default.forecast_ns / best.forecast_ns, "forecast")
    return ""


def _ratio(ratio: float, origin: str) -> str:
    return f"{ratio:.2f} times as fast, {origin}" if abs(ratio - 1.0) >= 0.005 else f"equal within 0.5 %, {origin}"


def _time(best: Candidate | None) -> str:
    if best is None:
        return ""
    return f"{microseconds(best.measured_ns if best.measured_ns is not None else best.forecast_ns)} µs"


def _row(candidate: Candidate, best: Candidate | None) -> Row:
    registers, spills = registers_of(candidate.report)
    certificate = candidate.certificate
    interval = ""
    if certificate is not None:
        interval = f"{certificate.initiation_interval_cycles or '-'} / {certificate.lower_bound.cycles}"
    reasons = [*candidate.not_honoured]
    if candidate.failure is not None:
        reasons.append(f"{candidate.failure.message} ({candidate.failure.code})")
    return Row(
        best=best is not None and candidate.id == best.id,
        kind=candidate.kind.replace("_", "-"),
        params=" ".join(f"{name}={value}" for name, value in candidate.params.items()),
        structure=structure_words(candidate.structure),
        forecast=microseconds(candidate.forecast_ns),
        measured=microseconds(candidate.measured_ns),
        interval=interval,
        registers=registers,
        spills=spills,
        outcome=candidate.outcome.replace("_", " "),
        reason="; ".join(reasons)[:600],
    )


def _program(program: ScopeProgram) -> dict[str, object]:
    bodies = [{"role": body.role, "steps": list(map(_step, body.instructions))} for body in program.bodies]
    return {"scope": "root" if program.scope == ROOT else f"loop {program.scope}", "bodies": bodies}


def _step(step: Instruction) -> str:
    if isinstance(step, OpRef):
        return step.id
    return f"{step.sync.value} {step.pipeline}" + (f" @{step.stage}" if step.stage else "")


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("warpwright.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")


def _version() -> str:
    try:
        return version("warpwright")
    except PackageNotFoundError:
        return "(source tree)"
