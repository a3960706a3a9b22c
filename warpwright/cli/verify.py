"""``warpwright verify``: checks a schedule against every rule, and what its file says about it, without a solver.

With ``--recheck`` a second engine looks for something better than the certificate says is possible.
"""

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.inputs import kernel_of, profile_of, read_text, stated_of
from warpwright.cli.options import VerifyOptions
from warpwright.cli.render import console
from warpwright.extras import needs
from warpwright.graphs import read_graph
from warpwright.solver.domain import HardwareProfile, KernelGraph, Pins, TargetFamily, WarpwrightError
from warpwright.solver.domain.certificate_check import CertificateCheck, FieldFinding
from warpwright.solver.modulo import read_problem
from warpwright.solver.modulo.stated_answer import parse_answer
from warpwright.tuning.children import ChildPool
from warpwright.verification import (
    Stated,
    Verification,
    answer_rechecked,
    answer_verification,
    rechecked,
    verification_of,
)

__all__ = ["run_verify"]


def run_verify(options: VerifyOptions) -> ExitCode:
    """Prints the broken rules and refused fields, or that there are none, and what is known about the proof.

    Raises:
        ExtraMissing: TileLang, which reads the kernel, is not installed, or for ``--recheck`` no solver.
    """
    if options.recheck:
        needs("searching for something better", "solve")
    if options.problem is not None:
        what, found = _of_problem(options, options.problem)
    else:
        assert options.kernel is not None
        assert options.profile is not None
        what, found = _of_kernel(options, options.kernel, options.profile)
    if options.json:
        sys.stdout.write(json.dumps(found.document()) + "\n")
    else:
        _print(f"{options.schedule.name} for {what}", found, console())
    return _exit_code(found)


def _of_kernel(options: VerifyOptions, file: Path, device: str) -> tuple[str, Verification]:
    needs("reading a kernel", "kernels")
    profile = profile_of(device)
    stated = stated_of(options.schedule)
    with ChildPool(1) as pool:
        kernel = kernel_of(file, options.function, options.settings, pool=pool)
        graph = _graph(kernel.variants[0].ir, profile, stated, pool)
        found = verification_of(graph, profile, stated)
        if options.recheck:
            found = rechecked(graph, profile, stated, found, pool=pool)
    return f"{kernel.name} on {profile.name}", found


def _graph(ir: str, profile: HardwareProfile, stated: Stated, pool: ChildPool) -> KernelGraph:
    """The kernel, for NPUs as its pins make TileLang ask; pins under which there is no kernel are those of another one."""
    pins = stated.certificate.pins if stated.certificate is not None else Pins()
    if profile.family is TargetFamily.ASCEND and pins != Pins():
        try:
            return read_graph(ir, profile, pins=pins, pool=pool)
        except WarpwrightError:
            pass
    return read_graph(ir, profile, pool=pool)


def _of_problem(options: VerifyOptions, file: Path) -> tuple[str, Verification]:
    problem, text = read_problem(file), read_text(options.schedule)
    found = answer_verification(problem, parse_answer(text))
    if options.recheck:
        with ChildPool(1) as pool:
            found = answer_rechecked(read_text(file), text, found, pool=pool)
    return problem.name, found


def _exit_code(found: Verification) -> ExitCode:
    if found.violations:
        return ExitCode.ILLEGAL
    if found.refused:
        return ExitCode.FALSE_CERTIFICATE
    undecided = found.certificate is not None and found.certificate.undecided
    return ExitCode.UNKNOWN if undecided else ExitCode.OK


def _print(what: str, found: Verification, out: Console) -> None:
    lines = [(f"{each.family}/{each.rule}", each.message, each.place) for each in found.violations]
    lines += [(each.code, each.message, each.place) for each in found.refused]
    for code, message, place in lines:
        out.print(Text(f"{code}: {message}" + (f" (at {place})" if place else "")))
    if found.violations:
        words = f"illegal: {len(found.violations)} rules broken"
    elif found.certificate is None:
        words = "legal; the file has no certificate"
    elif found.refused:
        words = f"legal, but its certificate is false: {len(found.refused)} fields refused"
    else:
        words = "legal, and its certificate holds"
    out.print(Text(f"{what}: {words}", style="bold"))
    if found.certificate is not None:
        _print_certificate(found.certificate, out)


def _print_certificate(check: CertificateCheck, out: Console) -> None:
    for proof in check.proofs:
        out.print(Text("  " + (f"{proof.place}: " if proof.place else "") + proof.sentence))
    unchecked = [each for each in check.fields if each.finding is FieldFinding.UNCHECKED]
    if unchecked:
        out.print(Text("  not checked: " + ", ".join(f"{each.field} {each.stated}" for each in unchecked)))
