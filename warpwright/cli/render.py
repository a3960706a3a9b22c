"""Tables and lines for people, on stdout. Every name that a user gave is printed as text, never as markup."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
WIDE = 120
"""Columns from which the table of candidates fits."""
UNWRAPPED = 100_000
"""Columns of an output that is not a terminal: whoever reads it searches lines, so none is ever broken."""


def console() -> Console:
    """The console of stdout; a pipe or a file gets every line whole."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=UNWRAPPED)


def print_result(result: Result, written: Sequence[Path] = ()) -> None:
    """The candidates (the compiler's own among them), the chosen schedule with its proof line, the files that were written, and
    last the answer in one sentence.
    """
    out = console()
    options = f", built with {', '.join(result.build_options)}" if result.build_options else ""
    out.print(Text(f"{result.kernel} for {result.profile}{options}: {result.ending}, {result.note}", style="bold"))
    if result.candidates and (shared := _shared_params(result)):
        params = result.candidates[0].params
        out.print(Text("every candidate: " + " ".join(f"{name}={params[name]}" for name in params if name in shared)))
    if result.candidates and out.width < WIDE:
        _print_narrow(result, out)
    elif result.candidates:
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
    for path in written:
        out.print(Text(f"wrote {path}"))
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


@dataclass(frozen=True, slots=True)
class _Row:
    """One candidate in words."""

    mark: str
    kind: str
    variant: str
    structure: str
    forecast: str
    measured: str
    interval: str
    registers: str
    spills: str
    outcome: str
    remark: str

    @property
    def style(self) -> str:
        """The winner's row stands out."""
        return "bold" if self.mark == "*" else ""


def _rows(result: Result) -> list[_Row]:
    shared = _shared_params(result)
    return [_row(result, candidate, shared) for candidate in result.candidates]


def _shared_params(result: Result) -> frozenset[str]:
    """Names of the parameters that have the same value in every candidate: a row need not repeat them."""
    values: dict[str, set[str]] = {}
    for candidate in result.candidates:
        for name, value in candidate.params.items():
            values.setdefault(name, set()).add(str(value))
    everywhere = set.intersection(*(set(candidate.params) for candidate in result.candidates))
    return frozenset(name for name in everywhere if len(values[name]) == 1)


def _row(result: Result, candidate: Candidate, shared: frozenset[str]) -> _Row:
    certificate = candidate.certificate
    interval = ""
    if certificate is not None:
        interval = f"{certificate.initiation_interval_cycles or '-'}/{certificate.lower_bound.cycles}"
    registers, spills = registers_of(candidate.report)
    is_best = result.best is not None and candidate.id == result.best.id and candidate.has_cost
    return _Row(
        "*" if is_best else "=" if candidate.id in result.tied else "",
        candidate.kind.replace("_", "-"),
        " ".join(f"{name}={value}" for name, value in candidate.params.items() if name not in shared)
        or ("" if shared else str(candidate.variant)),
        structure_words(candidate.structure),
        forecast_words(candidate),
        microseconds(candidate.measured_ns),
        interval,
        registers,
        spills,
        candidate.outcome.replace("_", " "),
        _remark(candidate),
    )


def _remark(candidate: Candidate) -> str:
    """What follows the outcome: how many launches agreed, why it was refused, why it failed, where it differs from the plan."""
    words = ""
    if agreed := agreement(candidate.measurement):
        words += f", {agreed}"
    if candidate.outcome is not Outcome.REFUSED and (refusal := refusal_of(candidate)):
        words += f", but refused: {refusal[:60]}"
    if candidate.failure is not None and candidate.failure.message:
        words += f": {candidate.failure.message.splitlines()[0][:60]}"
    if candidate.not_honoured:
        words += f" ({candidate.not_honoured[0][:60]})"
    return words


def _forecast_unit(result: Result) -> str:
    return "cycles" if any(c.forecast_cycles is not None for c in result.candidates) else "µs"


def _candidates(result: Result) -> Table:
    table = Table(title=None, header_style="bold", pad_edge=False)
    for heading, justify in (
        ("", "left"), ("kind", "left"), ("variant", "left"), ("structure", "left"),
        (f"forecast {_forecast_unit(result)}", "right"), ("measured µs", "right"), ("II/bound", "right"), ("regs", "right"),
        ("spill B", "right"), ("outcome", "left"),
    ):  # fmt: skip
        table.add_column(heading, justify="right" if justify == "right" else "left")
    for row in _rows(result):
        cells = (
            row.mark, row.kind, row.variant, row.structure, row.forecast, row.measured, row.interval, row.registers, row.spills,
            row.outcome + row.remark,
        )  # fmt: skip
        table.add_row(*(Text(cell) for cell in cells), style=row.style or None)
    return table


def _print_narrow(result: Result, out: Console) -> None:
    """Two lines a candidate: what became of it with its numbers, then what it is; each is cut at the edge, not wrapped."""
    unit = _forecast_unit(result)
    for row in _rows(result):
        numbers = [f"{row.measured} µs" if row.measured != "-" else "", f"forecast {row.forecast} {unit}"]
        numbers += [f"II {row.interval}" if row.interval else ""]
        numbers += [f"{row.registers} regs, {row.spills} B spilled" if row.registers != "-" else ""]
        first = f"{row.mark or ' '} {row.kind:<13} {row.outcome:<9} {', '.join(filter(None, numbers))}"
        said = row.remark.removeprefix(", ").removeprefix(": ")
        second = "    " + "; ".join(filter(None, (row.structure, row.variant, said)))
        for line in (first, second):
            out.print(Text(line, style=row.style), no_wrap=True, overflow="ellipsis")
