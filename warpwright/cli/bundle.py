"""``warpwright bundle``, ``measure`` and ``tell``: measuring on a machine that has a device and no network."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from warpwright.bundles import contents_of
from warpwright.cli.connect import check_tuning, client_of
from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.inputs import build_options_of, kernel_of, profile_of, read_text, writable_file
from warpwright.cli.options import BundleOptions
from warpwright.cli.progress import TuningProgress
from warpwright.cli.tune import stoppable
from warpwright.client import Client
from warpwright.extras import needs_modules
from warpwright.lowering.measure.result import Measured
from warpwright.remote import result_of_job, submission_of, tune_there
from warpwright.result import Result
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.tuning.bundle import measure_bundle, pack, read_results

__all__ = ["run_bundle", "run_measure", "run_tell"]


def run_bundle(options: BundleOptions) -> ExitCode:
    """Packs a job's built candidates, or tunes a kernel file without measuring and packs its candidates.

    Raises:
        WarpwrightError: nothing was built, or the kernel file needs ``--profile``.
        BundleError: a binary is missing or damaged.
    """
    writable_file(options.out)
    if not _names_a_job(options):
        check_tuning(options.server)
    with client_of(options.server, options.token) as client, tempfile.TemporaryDirectory() as folder:
        result = _result(client, options)
        digest = pack(options.out, contents_of(result, Path(folder)))
    sys.stdout.write(f"packed {result.job or result.kernel} into {options.out} ({digest})\n")
    sys.stdout.write(f"on the machine with the device: warpwright measure {options.out.name} -o results.json\n")
    return ExitCode.OK


def _result(client: Client, options: BundleOptions) -> Result:
    file = Path(options.job_or_file)
    if _names_a_job(options):
        return result_of_job(client, client.job(options.job_or_file), products_of=lambda view: True)
    if options.profile is None:
        raise WarpwrightError("a kernel file needs --profile", code="profile-needed", place="--profile")
    profile = profile_of(options.profile)
    build_options = build_options_of(options.build_options, profile)
    with TuningProgress(file.name) as progress, stoppable() as stop:
        kernel = kernel_of(file, options.function, options.settings)
        submission = submission_of(
            kernel, profile, candidates=options.candidates, build_options=build_options, measure=False
        )
        return tune_there(client, submission, stop=stop, events=progress, poll_seconds=0.3, all_products=True)


def _names_a_job(options: BundleOptions) -> bool:
    file = Path(options.job_or_file)
    return not file.exists() and file.suffix not in {".py", ".json"}


def run_measure(bundle: Path, out: Path, device: str, budget: float) -> ExitCode:
    """Measures a bundle on a device of this machine and writes the results document.

    Raises:
        ExtraMissing: torch, or what computes figures, is not installed.
        BundleError: the file is not a bundle.
        WarpwrightError: ``device-unknown``, or nothing could be measured; no file is written then.
    """
    options = _device(device)
    needs_modules("measuring", "kernels", *(["torch"] if options["kind"] != "simulated" else []), "numpy")
    writable_file(out)
    with stoppable() as stop:
        text = measure_bundle(bundle, options, budget_seconds=budget, cancel=stop.event, on_result=_show)
    out.write_text(text + "\n", "utf-8")
    document = json.loads(text)
    winner = document["verdict"]["winner"] if document["verdict"] else "none"
    sys.stdout.write(f"wrote {out}: {len(document['results'])} candidates, winner {winner}\n")
    return ExitCode.PARTIAL if document["partial"] else ExitCode.OK


def run_tell(job: str, results: Path, server: str | None, token: str | None, *, as_json: bool) -> ExitCode:
    """Gives a job the results that were measured elsewhere.

    Raises:
        BundleError: the document is damaged, or belongs to another bundle.
        ServerError: the job does not accept it.
    """
    text = read_text(results)
    told = read_results(text)
    with client_of(server, token) as client:
        view = client.tell(job, json.loads(text))
    if as_json:
        sys.stdout.write(view.model_dump_json() + "\n")
    else:
        sys.stdout.write(
            f"gave {job} the results of {len(told.report.results)} candidates; best {view.best}, {view.note}\n"
        )
    return ExitCode.OK


def _device(text: str) -> dict[str, Any]:
    """``0`` or ``cuda:0``, ``npu:0``, or ``simulated``."""
    kind, _, index = text.rpartition(":")
    if text == "simulated":
        return {"kind": "simulated"}
    if not index.isdigit() or kind not in ("", "cuda", "npu"):
        raise WarpwrightError(
            f"{text!r} is not a device; try 0, cuda:1 or npu:0", code="device-unknown", place="--device"
        )
    return {"kind": kind or "cuda", "index": int(index)}


def _show(measured: Measured) -> None:
    time = f", {measured.summary.median_ns / 1000:.1f} µs" if measured.summary is not None else ""
    sys.stderr.write(f"{measured.candidate}: {measured.outcome.kind.value}{time}\n")
