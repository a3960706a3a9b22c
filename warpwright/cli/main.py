"""The ``warpwright`` program: commands and their options. Nothing heavy is imported here (docs/decisions/0004)."""

import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app", "main"]

app = typer.Typer(
    name="warpwright",
    help="Fast, provably legal execution schedules for accelerator kernels, by constraint solving.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
ProfileName = Annotated[
    str, typer.Option("--profile", "-p", help="Device: a built-in name (see 'warpwright profiles') or a TOML file.")
]
Function = Annotated[str | None, typer.Option("--function", help="Which kernel or factory of the file.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the kernel function; repeatable.")
]
Server = Annotated[
    str | None,
    typer.Option("--server", envvar="WARPWRIGHT_SERVER", help="Run on this server instead of locally.", metavar="URL"),
]
Token = Annotated[str | None, typer.Option("--token", envvar="WARPWRIGHT_TOKEN", help="Access token of the server.")]
Engine = Annotated[str, typer.Option("--engine", help="Constraint solver: cpsat, z3 or enumerate.")]
BuildOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--build-option",
        metavar="NAME",
        help="Changes how all builds round: flush_denormals or fast_math; repeatable (see docs/cli.md).",
    ),
]
KernelPath = Annotated[Path, typer.Argument(metavar="FILE", help="TileLang Python file, or IR JSON.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("warpwright")
        except PackageNotFoundError:
            found = "(source tree, not installed)"
        typer.echo(f"warpwright {found}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Fast, provably legal execution schedules for accelerator kernels, by constraint solving."""


@app.command()
def tune(
    file: KernelPath,
    profile: ProfileName,
    function: Function = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write report, sources, schedules and binaries here.")
    ] = None,
    candidates: Annotated[int | None, typer.Option("--candidates", "-n", min=1, help="Schedules to try.")] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", min=0.1, help="Time limit in seconds for the whole tuning.")
    ] = None,
    effort: Annotated[str, typer.Option("--effort", help="quick, normal or thorough.")] = "normal",
    engine: Engine = "cpsat",
    pins: Annotated[
        Path | None, typer.Option("--pins", help="JSON document with the choices that you fix (pins).")
    ] = None,
    build_options: BuildOptions = None,
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Time the candidates if a device is present.")
    ] = True,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ignore cached results.")] = False,
    server: Server = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Find a better schedule for a kernel: solve, verify, build, and measure if a device is present."""
    from warpwright.cli.tune import TuneOptions, run_tune

    options = TuneOptions(
        file=file, profile=profile, function=function, settings=tuple(settings or ()), out=out, candidates=candidates,
        budget=budget, effort=effort, engine=engine, pins=pins, build_options=tuple(build_options or ()),
        measure=measure, fresh=fresh, server=server, token=token, json=json,
    )  # fmt: skip
    raise typer.Exit(run_tune(options))


@app.command()
def solve(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="TileLang Python file, or IR JSON.")] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", help="Device: a built-in name or a TOML file.")
    ] = None,
    function: Function = None,
    settings: Settings = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", help="cpsat (default), z3, enumerate; exact (default for scheduler calls)."),
    ] = None,
    why: Annotated[
        str | None, typer.Option("--why", help="Ask why a choice is not possible, such as pipelines.ab.depth=4.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which resource limits the kernel, and what is left of the others.")
    ] = False,
    pins: Annotated[
        Path | None, typer.Option("--pins", help="JSON document with the choices that you fix (pins).")
    ] = None,
    problem: Annotated[
        Path | None, typer.Option("--problem", help="Solve a modulo scheduling problem (JSON) instead of a kernel.")
    ] = None,
    scheduler_call: Annotated[
        Path | None,
        typer.Option("--scheduler-call", help="Solve a captured call of TileLang's Ascend scheduler (JSON)."),
    ] = None,
    json: Json = False,
) -> None:
    """Find one schedule with its proof, or say which constraints conflict. Nothing is compiled."""
    if sum(given is not None for given in (file, problem, scheduler_call)) != 1:
        raise typer.BadParameter("give one of FILE, --problem, --scheduler-call")
    from warpwright.cli.solve import SolveOptions, run_solve

    options = SolveOptions(
        file=file, profile=profile, function=function, settings=tuple(settings or ()), engine=engine, why=why,
        explain=explain, pins=pins,
        problem=problem, scheduler_call=scheduler_call, json=json,
    )  # fmt: skip
    raise typer.Exit(run_solve(options))


@app.command()
def verify(
    schedule: Annotated[Path, typer.Argument(metavar="SCHEDULE.json", help="Schedule document.")],
    kernel: Annotated[Path, typer.Option("--kernel", help="The kernel file that it belongs to.")],
    profile: ProfileName,
    function: Function = None,
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Check a schedule against every rule, without a solver."""
    from warpwright.cli.verify import VerifyOptions, run_verify

    options = VerifyOptions(schedule, kernel, profile, function, tuple(settings or ()), json)
    raise typer.Exit(run_verify(options))


@app.command()
def profiles(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show every number of this profile.")] = None,
    json: Json = False,
) -> None:
    """List the built-in hardware profiles, or show one with units, origins and sources."""
    from warpwright.cli.profiles import run_profiles

    raise typer.Exit(run_profiles(name, as_json=json))


@app.command()
def doctor(server: Server = None, token: Token = None, json: Json = False) -> None:
    """Show what this machine can do and what is missing."""
    from warpwright.cli.doctor import run_doctor

    raise typer.Exit(run_doctor(server, token, as_json=json))


@app.command()
def batch(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines, one kernel per line; or the id of a batch.")],
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", help="Device for lines that do not name one.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the results here: .jsonl or .csv.")] = None,
    name: Annotated[str, typer.Option("--name", help="Name to show; the file's name by default.")] = "",
    effort: Annotated[str | None, typer.Option("--effort", help="quick, normal or thorough.")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Submit and exit; the server continues.")] = False,
    server: Server = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Tune many kernels at once; the display survives a lost connection and can be resumed."""
    from warpwright.cli.batch import BatchOptions, run_batch

    raise typer.Exit(run_batch(BatchOptions(file, profile, out, name, effort, detach, server, token, json)))


@app.command()
def lock(
    file: KernelPath,
    profile: ProfileName,
    function: Function = None,
    settings: Settings = None,
    path: Annotated[Path, typer.Option("--lock", help="The lock file.")] = Path("warpwright.lock"),
    candidates: Annotated[int | None, typer.Option("--candidates", "-n", min=1, help="Schedules to try.")] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", min=0.1, help="Time limit in seconds for the whole tuning.")
    ] = None,
    effort: Annotated[str, typer.Option("--effort", help="quick, normal or thorough.")] = "normal",
    build_options: BuildOptions = None,
    server: Server = None,
    token: Token = None,
) -> None:
    """Write the best known schedule of a kernel into a lock file to commit; tune if none is known."""
    from warpwright.cli.lock import LockOptions, run_lock

    options = LockOptions(
        file, profile, function, tuple(settings or ()), path, effort, candidates, budget, server, token,
        tuple(build_options or ()),
    )  # fmt: skip
    raise typer.Exit(run_lock(options))


@app.command()
def build(
    out: Annotated[Path, typer.Option("--out", help="Folder for sources, binaries and manifest.json.")],
    path: Annotated[Path, typer.Option("--lock", help="The lock file.")] = Path("warpwright.lock"),
    locked: Annotated[bool, typer.Option("--locked", help="Any difference from the lock file ends the build.")] = False,
    source_only: Annotated[bool, typer.Option("--source-only", help="CUDA source, no binary.")] = False,
    depfile: Annotated[
        Path | None,
        typer.Option("--depfile", help="Write the files that the build depends on, for make, ninja and CMake."),
    ] = None,
) -> None:
    """Build what a lock file names: compares digests and verifies schedules again; with --locked no service is needed."""
    from warpwright.cli.lock import run_build

    raise typer.Exit(run_build(path, out, locked=locked, source_only=source_only, depfile=depfile))


@app.command()
def report(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Id of a job, as shown by 'tune --json' and the API.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write.")] = Path("report.html"),
    server: Server = None,
    token: Token = None,
) -> None:
    """Write a job's page as one self-contained HTML file."""
    from warpwright.cli.report import run_report

    raise typer.Exit(run_report(job, out, server, token))


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; any address but loopback requires a token.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Port; 8753 by default.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Folder for the database and artifacts.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=0, help="Jobs that run at the same time; 0 serves HTTP only.")
    ] = None,
) -> None:
    """Serve the HTTP API and the dashboard."""
    from warpwright.cli.serve import run_serve

    raise typer.Exit(run_serve(host, port, data, jobs))


@app.command()
def bundle(
    job_or_file: Annotated[
        str, typer.Argument(metavar="JOB_OR_FILE", help="Id of a job, or a kernel file to tune first.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write.")],
    profile: Annotated[str | None, typer.Option("--profile", "-p", help="Device, if a kernel file is given.")] = None,
    function: Function = None,
    settings: Settings = None,
    candidates: Annotated[int | None, typer.Option("--candidates", "-n", min=1, help="Schedules to try.")] = None,
    build_options: BuildOptions = None,
    server: Server = None,
    token: Token = None,
) -> None:
    """Pack built candidates to be measured on a machine without a network."""
    from warpwright.cli.bundle import BundleOptions, run_bundle

    options = BundleOptions(
        job_or_file,
        out,
        profile,
        function,
        tuple(settings or ()),
        candidates,
        server,
        token,
        tuple(build_options or ()),
    )
    raise typer.Exit(run_bundle(options))


@app.command()
def measure(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="Bundle written by 'warpwright bundle'.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write the results to.")] = Path("results.json"),
    device: Annotated[str, typer.Option("--device", help="0, cuda:1, npu:0, or simulated.")] = "0",
    budget: Annotated[
        float, typer.Option("--budget", min=0.1, help="Time limit in seconds for the whole session.")
    ] = 600.0,
) -> None:
    """Measure a bundle on this machine's device: no network, no database."""
    from warpwright.cli.bundle import run_measure

    raise typer.Exit(run_measure(bundle, out, device, budget))


@app.command()
def tell(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Id of the job that the bundle was made from.")],
    results: Annotated[Path, typer.Argument(metavar="RESULTS.json", help="Results written by 'warpwright measure'.")],
    server: Server = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Give a job the results that were measured elsewhere."""
    from warpwright.cli.bundle import run_tell

    raise typer.Exit(run_tell(job, results, server, token, as_json=json))


@app.command()
def worker(
    capabilities: Annotated[
        str | None,
        typer.Option(
            "--capabilities",
            help="Comma-separated: solve, frontend, compile.cuda, compile.ascend, measure.PROFILE, or measure for every"
            " device of this machine; default: all but measure.",
        ),
    ] = None,
    slots: Annotated[int, typer.Option("--slots", min=1, help="Tasks that run at the same time.")] = 1,
    name: Annotated[str, typer.Option("--name", help="Name to show.")] = "",
    broker: Annotated[str | None, typer.Option("--broker", help="Redis URL; default: WARPWRIGHT_BROKER_URL.")] = None,
) -> None:
    """Run tasks of a service on another machine (extra 'cluster'): compile, solve or measure."""
    from warpwright.cli.worker import run_worker_command

    raise typer.Exit(run_worker_command(capabilities, slots, name, broker))


workers = typer.Typer(help="List and drain the workers of a service.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(workers, name="workers")
WorkerName = Annotated[str, typer.Argument(metavar="WORKER", help="Id as shown by 'workers list'.")]


@workers.command("list")
def workers_list(server: Server = None, token: Token = None, json: Json = False) -> None:
    """List the workers with what they can do, their health and their last error."""
    from warpwright.cli.workers import list_workers

    raise typer.Exit(list_workers(server, token, as_json=json))


@workers.command("drain")
def workers_drain(worker: WorkerName, server: Server = None, token: Token = None) -> None:
    """Let a worker finish its tasks and take no new ones."""
    from warpwright.cli.workers import drain_worker

    raise typer.Exit(drain_worker(worker, server, token, on=True))


@workers.command("resume")
def workers_resume(worker: WorkerName, server: Server = None, token: Token = None) -> None:
    """Let a drained worker take tasks again."""
    from warpwright.cli.workers import drain_worker

    raise typer.Exit(drain_worker(worker, server, token, on=False))


tokens = typer.Typer(help="Create, list and revoke access tokens.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(tokens, name="token")


@tokens.command("create")
def token_create(
    name: Annotated[str, typer.Argument(help="Name to show.")],
    scopes: Annotated[list[str] | None, typer.Option("--scope", help="read, tune, work or admin; repeatable.")] = None,
    json: Json = False,
) -> None:
    """Create a token and print its secret, which is shown only once."""
    from warpwright.cli.tokens import create_token

    raise typer.Exit(create_token(name, scopes or [], as_json=json))


@tokens.command("list")
def token_list(json: Json = False) -> None:
    """List the tokens, without their secrets."""
    from warpwright.cli.tokens import list_tokens

    raise typer.Exit(list_tokens(as_json=json))


@tokens.command("revoke")
def token_revoke(token_id: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """Revoke a token."""
    from warpwright.cli.tokens import revoke_token

    raise typer.Exit(revoke_token(token_id))


def main(arguments: list[str] | None = None) -> None:
    """Runs the program; never returns."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        app(arguments, prog_name="warpwright")
    except SystemExit as left:
        if left.code == 2 and "--json" in arguments:
            from warpwright.cli.failures import report_usage

            report_usage()
        raise
    except Exception as error:  # noqa: BLE001 - the outermost edge: every error becomes a message and an exit code
        from warpwright.cli.failures import report_failure

        raise SystemExit(report_failure(error, as_json="--json" in arguments)) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201 - the program's own output
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
