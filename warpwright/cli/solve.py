"""``warpwright solve``: a kernel's verdict, an explanation, a modulo problem, or a captured scheduler call."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from rich.table import Table
from rich.text import Text

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.inputs import kernel_of, pins_of, profile_of
from warpwright.cli.options import SolveOptions
from warpwright.cli.render import console, print_schedule
from warpwright.extras import needs
from warpwright.graphs import read_graph
from warpwright.kernel_file import KernelFile
from warpwright.lowering.frontend.author_settings import AuthorSettings, not_followed
from warpwright.lowering.frontend.precheck import precheck
from warpwright.sentences import proof_line
from warpwright.solver.device.instruction import remarks
from warpwright.solver.device.limits import read_limits
from warpwright.solver.domain import (
    Feasible,
    HardwareProfile,
    Infeasible,
    Pins,
    ProvenOptimal,
    TargetFamily,
    Unknown,
    Verdict,
    documents,
    proof_sentence,
)
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.solving import solve_kernel
from warpwright.tuning.children import ChildPool, users_environment

__all__ = ["run_solve"]

DEFAULT_ENGINE = "cpsat"
ENGINES = (DEFAULT_ENGINE, "z3", "enumerate")
"""Engines for kernels; an engine's own module is imported in a child only."""


def run_solve(options: SolveOptions) -> ExitCode:
    """Solves the given kernel, problem or calls and prints the answer.

    Raises:
        ExtraMissing: no solver is installed, or no TileLang for a kernel.
    """
    needs("solving on this machine", *(["kernels"] if options.file is not None else []), "solve")
    if options.problem is not None:
        return _solve_problem(options.problem, options)
    if options.scheduler_call is not None:
        return _solve_calls(options.scheduler_call, options)
    if options.file is None or options.profile is None:
        raise WarpwrightError("a kernel needs --profile", code="profile-needed", place="--profile")
    if options.engine is not None and options.engine not in ENGINES:
        message = f"there is no engine {options.engine!r}; choose one of {', '.join(ENGINES)}"
        raise WarpwrightError(message, code="engine-unknown", place="--engine")
    profile = profile_of(options.profile)
    pins = pins_of(options.pins, profile)
    with ChildPool(1, environment=users_environment()) as pool:
        kernel = kernel_of(options.file, options.function, options.settings, pool=pool)
        if options.why is not None or options.explain:
            return _explain(kernel, profile, pins, options, pool)
        is_cuda = profile.family is TargetFamily.CUDA
        graph = read_graph(kernel.variants[0].ir, profile, pool=pool) if is_cuda else None
        engine = options.engine or DEFAULT_ENGINE
        verdict = solve_kernel(kernel, profile, engine=engine, pins=pins, pool=pool, graph=graph)
    settings = precheck(kernel.variants[0].ir).settings() if is_cuda else AuthorSettings()
    if ignored := settings.ignored(default=False):
        sys.stderr.write(f"{not_followed(ignored)}\n")
    if options.json:
        _print_json(documents.dump(verdict))
    else:
        _print_verdict(kernel.name, profile, verdict)
        if graph is not None:
            limits = read_limits(profile)
            for sentence in remarks(graph, wgmma=limits.wgmma, tcgen05=limits.tcgen05):
                console().print(Text(sentence, style="yellow"))
    return _exit_code(verdict.status)


def _print_verdict(name: str, profile: HardwareProfile, verdict: Verdict) -> None:
    out = console()
    said = verdict.status if isinstance(verdict, Infeasible | Unknown) else proof_sentence(verdict.certificate)
    out.print(Text(f"{name} for {profile.name}: {said}", style="bold"))
    match verdict:
        case (
            ProvenOptimal(schedule=schedule, certificate=certificate)
            | Feasible(schedule=schedule, certificate=certificate)
        ):
            print_schedule(schedule, out)
            out.print(Text(proof_line(certificate)))
        case Infeasible(conflicts=conflicts):
            for each in conflicts:
                out.print(
                    Text(f"  {each.family}: {each.message}" + (f" -> {each.relaxation}" if each.relaxation else ""))
                )
        case Unknown(reason=reason):
            out.print(Text(f"  the budget ended: {reason}"))


def _explain(
    kernel: KernelFile, profile: HardwareProfile, pins: Pins, options: SolveOptions, pool: ChildPool
) -> ExitCode:
    from warpwright.solver.explain import Explanation, explain

    graph = read_graph(kernel.variants[0].ir, profile, pool=pool)
    found = explain(graph, profile, options.why, pins=pins, engine=options.engine or DEFAULT_ENGINE)
    if options.json:
        body = TypeAdapter(Explanation).dump_python(found, mode="json")
        _print_json({"schema": "warpwright.explanation/1", **body})
    else:
        console().print(Text(str(found)))
    if found.possible is None:
        return ExitCode.UNKNOWN
    return ExitCode.OK if found.possible else ExitCode.INFEASIBLE


def _solve_problem(path: Path, options: SolveOptions) -> ExitCode:
    from warpwright.solver.modulo import solve_file

    answer = solve_file(path, engine=options.engine or DEFAULT_ENGINE)
    if options.json:
        _print_json(answer)
    else:
        _print_modulo(answer)
    return _exit_code(str(answer["status"]))


def _print_modulo(answer: Mapping[str, Any]) -> None:
    out = console()
    bound = answer["bound"]
    out.print(Text(f"{answer['problem']}: {answer['status'].replace('_', ' ')}", style="bold"))
    out.print(
        Text(f"interval {answer['interval']}, lower bound {bound['cycles']} ({bound['reason']}); {answer['engine']}")
    )
    if answer.get("schedule"):
        table = Table("operation", "start", "stage", "group", header_style="bold")
        for row in answer["schedule"]:
            table.add_row(
                *(Text(str(row[key] if row[key] is not None else "")) for key in ("op", "start", "stage", "group"))
            )
        out.print(table)
        out.print(Text(f"verified: {'yes' if answer['verified'] else 'NO'}"))
    for each in answer.get("conflicts", []):
        out.print(
            Text(f"  {each['family']}: {each['message']}" + (f" -> {each['relaxation']}" if each["relaxation"] else ""))
        )


def _solve_calls(path: Path, options: SolveOptions) -> ExitCode:
    from warpwright.solver.ascend.scheduler_call import run

    rows = run(path) if options.engine is None else run(path, engine=options.engine)
    if options.json or not sys.stdout.isatty():
        for row in rows:
            _print_json(row)
    else:
        table = Table("call", "II", "lower bound", "proven", "bytes", "versions", "seconds", header_style="bold")
        for row in rows:
            interval = row["ii"] if row["ii"] is not None else f"makespan {row.get('makespan')}"
            cells = (
                row["call"],
                interval,
                row["lower_bound"],
                row["proven"],
                row["bytes"],
                row["versions"],
                row["seconds"],
            )
            table.add_row(*(Text(str(cell)) for cell in cells))
        console().print(table)
    worst = max(rows, key=lambda row: ("solved", "unknown", "infeasible").index(row["status"]), default=None)
    return _exit_code(worst["status"]) if worst is not None else ExitCode.OK


def _exit_code(status: str) -> ExitCode:
    return {"infeasible": ExitCode.INFEASIBLE, "unknown": ExitCode.UNKNOWN}.get(status, ExitCode.OK)


def _print_json(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
