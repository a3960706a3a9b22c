"""Tables and lines for people, on stdout. Every name that a user gave is printed as text, never as markup."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from warpwright.result import Result
from warpwright.sentences import (
    agreement,
    basis_line,
    by_reason,
    describe,
    forecast_words,
    microseconds,
    proof_line,
    registers_of,
    structure_words,
)
from warpwright.solver.domain import (
    BufferSchedule,
    BufferVersions,
    Candidate,
    ChosenBy,
    Outcome,
    Schedule,
    WarpSchedule,
)
from warpwright.tuning.partial_reasons import words_of
from warpwright.tuning.verdicts import refusal_of

__all__ = ["console", "print_result", "print_schedule"]


SHOWN_REASONS = 5
UNWRAPPED = 100_000
"""Columns of an output that is not a terminal: whoever reads it searches lines, so none is ever broken."""


def console() -> Console:
    """The console of stdout; a pipe or a file gets every line whole."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=UNWRAPPED)


def print_result(result: Result) -> None:
    """The candidates (the compiler's own among them), the chosen schedule and its proof line."""
    out = console()
    options = f", built with {', '.join(result.build_options)}" if result.build_options else ""
    out.print(Text(f"{result.kernel} for {result.profile}{options}: {result.ending}, {result.note}", style="bold"))
    if result.candidates:
        out.print(_candidates(result))
    best = result.best
    if best is not None:
        out.print(Text(f"{_chosen(best)}: {describe(best)} ({result.note})", style="bold green"))
        if ties := _ties(result):
            out.print(Text(ties))
        if checked := _sizes(best):
            out.print(Text(checked))
        if best.schedule is not None:
            print_schedule(best.schedule, out)
        for line in _basis(result, best):
            out.print(Text(line))
    _print_impossible(result, out)
    for number, failure in result.refused_variants.items():
        out.print(Text(f"variant {number} refused: {failure.message} ({failure.code})", style="yellow"))
    if result.partial:
        known = "this is the best known so far" if best is not None else "nothing usable is known yet"
        words = f"partial ({words_of(result.stopped_by)}): {known}; the same command continues from here"
        out.print(Text(words, style="yellow"))
    if result.answer:
        out.print(Text(f"answer: {result.answer}", style="bold"))


def _print_impossible(result: Result, out: Console) -> None:
    """Each reason once, with how many structures it excludes."""
    groups = by_reason(result.rejected)
    for conflicts, entries in groups[:SHOWN_REASONS]:
        where = structure_words(entries[0].structure) or "all structures"
        others = f" and {len(entries) - 1} more structures" if len(entries) > 1 else ""
        out.print(Text(f"impossible (variant {entries[0].variant}): {where}{others}", style="yellow"))
        for conflict in conflicts:
            words = f"    {conflict.family}: {conflict.message}"
            out.print(Text(words + (f" -> {conflict.relaxation}" if conflict.relaxation else "")))
    if left := sum(len(entries) for _, entries in groups[SHOWN_REASONS:]):
        out.print(Text(f"    and {left} more impossible structures (--json has them all)"))


def _basis(result: Result, best: Candidate) -> list[str]:
    """What the answer rests on, with the proof; where one of the compiler's own choices only ties with a proven schedule, that
    one's proof.
    """
    proven = best.certificate is not None
    lines = [basis_line(best.outcome, best.measurement, costed=best.has_cost, proven=proven)]
    if best.certificate is not None:
        return [*lines, proof_line(best.certificate)]
    for candidate in result.candidates:
        if candidate.id in result.tied and candidate.certificate is not None:
            return [*lines, f"of {describe(candidate)}, which is as good: {proof_line(candidate.certificate)}"]
    return lines


def _chosen(best: Candidate) -> str:
    return "chosen" if best.has_cost else "the compiler's own choice stands, nothing was ranked"


def _ties(result: Result) -> str:
    """Who is as good as the winner, in words; empty if nobody is."""
    others = [candidate for candidate in result.candidates if candidate.id in result.tied and candidate != result.best]
    if not others:
        return ""
    basis = "measured" if result.best is not None and result.best.measured_ns is not None else "forecast"
    return f"as good, {basis} (marked =): {'; '.join(describe(candidate) for candidate in others)}"


def print_schedule(schedule: Schedule, out: Console) -> None:
    """Roles and pipelines of a warp schedule, or versions of a buffer schedule, in a few lines."""
    match schedule:
        case WarpSchedule():
            roles = ", ".join(
                f"{role.name} warps {role.warps_lo}-{role.warps_hi - 1}"
                + (f" ({role.registers_per_thread} registers)" if role.registers_per_thread else "")
                for role in schedule.roles
            )
            pipelines = ", ".join(
                f"{pipe.name} depth {pipe.depth} [{', '.join(pipe.buffers)}]" for pipe in schedule.pipelines
            )
            out.print(Text(f"  {schedule.num_warps} warps: {roles}"))
            out.print(Text(f"  pipelines: {pipelines or 'none'}"))
        case BufferSchedule():
            versions = ", ".join(_versions(entry) for entry in schedule.buffers)
            out.print(Text(f"  versions: {versions or 'none'}"))
            for loop in schedule.loops:
                interval = loop.initiation_interval_cycles
                out.print(
                    Text(
                        f"  loop {loop.scope}: "
                        + (f"II {interval}" if interval else f"makespan {loop.makespan_cycles}")
                    )
                )


def _versions(entry: BufferVersions) -> str:
    """A buffer's count and mode; what the user fixed is marked."""
    count = f"x{entry.versions}" + (" (pinned)" if entry.versions_chosen_by is ChosenBy.USER else "")
    mode = entry.mode.value + (" (pinned)" if entry.mode_chosen_by is ChosenBy.USER else "")
    ring = f", a ring of {entry.manual_versions} by hand" if entry.manual_versions is not None else ""
    return f"{entry.buffer} {count} {mode}{ring}"


def _sizes(candidate: Candidate) -> str:
    """The result of the chosen candidate at the kernel's other sizes; empty if there are none or it was not measured."""
    entries = candidate.measurement.get("sizes")
    ends = [
        f"{entry['name']}: {str(entry['outcome']).replace('_', ' ')}" + (f" ({reason})" if reason else "")
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
        for reason in [entry.get("message")]
    ]
    return f"at other sizes: {'; '.join(ends)}" if ends else ""


def _candidates(result: Result) -> Table:
    table = Table(title=None, header_style="bold", pad_edge=False)
    forecast = "forecast cycles" if any(c.forecast_cycles is not None for c in result.candidates) else "forecast µs"
    for heading, justify in (
        ("", "left"), ("kind", "left"), ("variant", "left"), ("structure", "left"), (forecast, "right"),
        ("measured µs", "right"), ("II/bound", "right"), ("regs", "right"), ("spill B", "right"), ("outcome", "left"),
    ):  # fmt: skip
        table.add_column(heading, justify="right" if justify == "right" else "left")
    for candidate in result.candidates:
        certificate = candidate.certificate
        interval = ""
        if certificate is not None:
            interval = f"{certificate.initiation_interval_cycles or '-'}/{certificate.lower_bound.cycles}"
        registers, spills = registers_of(candidate.report)
        is_best = result.best is not None and candidate.id == result.best.id and candidate.has_cost
        outcome = candidate.outcome.replace("_", " ")
        if agreed := agreement(candidate.measurement):
            outcome += f", {agreed}"
        if candidate.outcome is not Outcome.REFUSED and (refusal := refusal_of(candidate)):
            outcome += f", but refused: {refusal[:60]}"
        if candidate.failure is not None:
            outcome += f": {candidate.failure.message.splitlines()[0][:60]}" if candidate.failure.message else ""
        if candidate.not_honoured:
            outcome += f" ({candidate.not_honoured[0][:60]})"
        cells = (
            "*" if is_best else "=" if candidate.id in result.tied else "",
            candidate.kind.replace("_", "-"),
            " ".join(f"{name}={value}" for name, value in candidate.params.items()) or str(candidate.variant),
            structure_words(candidate.structure),
            forecast_words(candidate),
            microseconds(candidate.measured_ns),
            interval,
            registers,
            spills,
            outcome,
        )
        table.add_row(*(Text(cell) for cell in cells), style="bold" if is_best else None)
    return table
