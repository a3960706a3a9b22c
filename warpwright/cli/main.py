"""The ``warpwright`` program: commands and their options. Nothing heavy is imported here (docs/decisions/0004)."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from warpwright.cli.options import (
    BatchOptions,
    BundleOptions,
    Json,
    LockOptions,
    Server,
    SolveOptions,
    Token,
    TuneOptions,
    VerifyOptions,
    as_command,
)

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


app.command("tune")(as_command(TuneOptions, "warpwright.cli.tune:run_tune"))
app.command("solve")(as_command(SolveOptions, "warpwright.cli.solve:run_solve"))
app.command("verify")(as_command(VerifyOptions, "warpwright.cli.verify:run_verify"))


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


app.command("batch")(as_command(BatchOptions, "warpwright.cli.batch:run_batch"))


app.command("lock")(as_command(LockOptions, "warpwright.cli.lock:run_lock"))


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


app.command("bundle")(as_command(BundleOptions, "warpwright.cli.bundle:run_bundle"))


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
    days: Annotated[
        float | None, typer.Option("--days", help="Let it expire after so many days.", min=0.001, max=3650)
    ] = None,
    json: Json = False,
) -> None:
    """Create a token and print its secret, which is shown only once."""
    from warpwright.cli.tokens import create_token

    raise typer.Exit(create_token(name, scopes or [], days, as_json=json))


@tokens.command("rotate")
def token_rotate(
    token_id: Annotated[str, typer.Argument(metavar="ID")],
    overlap: Annotated[
        float, typer.Option("--overlap", help="Seconds for which the old secret is accepted, too.", min=0)
    ] = 0.0,
    json: Json = False,
) -> None:
    """Replace a token by one with the same name, scopes and period, and print its secret."""
    from warpwright.cli.tokens import rotate_token

    raise typer.Exit(rotate_token(token_id, overlap, as_json=json))


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
