"""Commands with many options: each is a dataclass whose fields are its arguments and whose docstring is its help.

Nothing heavy is imported here (docs/decisions/0004): a command names the function that runs it, which is imported when it runs.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

__all__ = [
    "BatchOptions",
    "BundleOptions",
    "Json",
    "LockOptions",
    "Server",
    "SolveOptions",
    "Token",
    "TuneOptions",
    "VerifyOptions",
    "as_command",
]

OptionsT = TypeVar("OptionsT")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
ProfileName = Annotated[
    str, typer.Option("--profile", "-p", help="Device: a built-in name (see 'warpwright profiles') or a TOML file.")
]
Function = Annotated[str | None, typer.Option("--function", help="Which kernel or factory of the file.")]
Settings = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the kernel function; repeatable.")
]
Server = Annotated[
    str | None,
    typer.Option("--server", envvar="WARPWRIGHT_SERVER", help="Run on this server instead of locally.", metavar="URL"),
]
Token = Annotated[str | None, typer.Option("--token", envvar="WARPWRIGHT_TOKEN", help="Access token of the server.")]
BuildOptions = Annotated[
    list[str],
    typer.Option(
        "--build-option",
        metavar="NAME",
        help="Changes how all builds round: flush_denormals or fast_math; repeatable (see docs/cli.md).",
    ),
]
KernelPath = Annotated[Path, typer.Argument(metavar="FILE", help="TileLang Python file, or IR JSON.")]
Candidates = Annotated[
    int | None, typer.Option("--candidates", "-n", min=0, help="Schedules to try; 0: only the compiler's own choices.")
]
Budget = Annotated[float | None, typer.Option("--budget", min=0.1, help="Time limit in seconds for the whole tuning.")]
Effort = Annotated[str, typer.Option("--effort", help="quick, normal or thorough.")]
PinsPath = Annotated[Path | None, typer.Option("--pins", help="JSON document with the choices that you fix (pins).")]


def as_command(options: type[OptionsT], run: str) -> Callable[..., None]:
    """The callback of a command: typed arguments become ``options``, and ``run`` (``module:function``) gives the exit code."""
    hints = get_type_hints(options, include_extras=True)
    parameters = []
    for each in fields(options):  # type: ignore[arg-type]  # a dataclass: fields() raises otherwise
        default = each.default if each.default_factory is MISSING else each.default_factory()
        default = inspect.Parameter.empty if default is MISSING else default
        parameters.append(
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[each.name])
        )

    def callback(**typed: Any) -> None:
        module, _, name = run.partition(":")
        raise typer.Exit(getattr(import_module(module), name)(options(**typed)))

    callback.__doc__ = options.__doc__
    callback.__annotations__ = hints
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # PEP 362: read by inspect
    return callback


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """Find a better schedule for a kernel: solve, verify, build, and measure if a device is present."""

    file: KernelPath
    profile: ProfileName
    function: Function = None
    settings: Settings = field(default_factory=list)
    out: Annotated[Path | None, typer.Option("--out", help="Write report, sources, schedules and binaries here.")] = (
        None
    )
    candidates: Candidates = None
    budget: Budget = None
    effort: Effort = "normal"
    engine: Annotated[str, typer.Option("--engine", help="Constraint solver: cpsat, z3 or enumerate.")] = "cpsat"
    pins: PinsPath = None
    build_options: BuildOptions = field(default_factory=list)
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Time the candidates if a device is present.")
    ] = True
    fresh: Annotated[bool, typer.Option("--fresh", help="Ignore cached results.")] = False
    server: Server = None
    token: Token = None
    json: Json = False


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """Find one schedule with its proof, or say which constraints conflict. Nothing is compiled."""

    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="TileLang Python file, or IR JSON.")] = None
    profile: Annotated[str | None, typer.Option("--profile", "-p", help="Device: a built-in name or a TOML file.")] = (
        None
    )
    function: Function = None
    settings: Settings = field(default_factory=list)
    engine: Annotated[
        str | None,
        typer.Option("--engine", help="cpsat (default), z3, enumerate; exact (default for scheduler calls)."),
    ] = None
    why: Annotated[
        str | None, typer.Option("--why", help="Ask why a choice is not possible, such as pipelines.ab.depth=4.")
    ] = None
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which resource limits the kernel, and what is left of the others.")
    ] = False
    pins: PinsPath = None
    problem: Annotated[
        Path | None, typer.Option("--problem", help="Solve a modulo scheduling problem (JSON) instead of a kernel.")
    ] = None
    scheduler_call: Annotated[
        Path | None,
        typer.Option("--scheduler-call", help="Solve a captured call of TileLang's Ascend scheduler (JSON)."),
    ] = None
    json: Json = False

    def __post_init__(self) -> None:
        if sum(given is not None for given in (self.file, self.problem, self.scheduler_call)) != 1:
            raise typer.BadParameter("give one of FILE, --problem, --scheduler-call")


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Check a schedule against every rule, and what its file says about it, without a solver."""

    schedule: Annotated[
        Path,
        typer.Argument(
            metavar="SCHEDULE.json", help="A schedule, a verdict or an answer of solve --json, or a candidate.json."
        ),
    ]
    kernel: Annotated[Path | None, typer.Option("--kernel", help="The kernel file that it belongs to.")] = None
    profile: Annotated[str | None, typer.Option("--profile", "-p", help="Device: a built-in name or a TOML file.")] = (
        None
    )
    problem: Annotated[
        Path | None, typer.Option("--problem", help="The modulo problem (JSON) that it answers, instead of a kernel.")
    ] = None
    function: Function = None
    settings: Settings = field(default_factory=list)
    recheck: Annotated[
        bool,
        typer.Option("--recheck", help="Let a second engine look for something better than the certificate's bound."),
    ] = False
    json: Json = False

    def __post_init__(self) -> None:
        if (self.problem is None) is (self.kernel is None and self.profile is None):
            raise typer.BadParameter("give --kernel and --profile, or --problem")
        if self.problem is None and (self.kernel is None or self.profile is None):
            raise typer.BadParameter("a kernel needs --kernel and --profile")


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Tune many kernels at once; the display survives a lost connection and can be resumed."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="JSON lines, one kernel per line; a Python file, all its kernels; or the id of a batch.",
        ),
    ]
    profile: Annotated[str | None, typer.Option("--profile", "-p", help="Device for lines that do not name one.")] = (
        None
    )
    function: Function = None
    settings: Settings = field(default_factory=list)
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the results here: .jsonl or .csv.")] = None
    name: Annotated[str, typer.Option("--name", help="Name to show; the file's name by default.")] = ""
    effort: Annotated[str | None, typer.Option("--effort", help="quick, normal or thorough.")] = None
    detach: Annotated[bool, typer.Option("--detach", help="Submit and exit; the server continues.")] = False
    server: Server = None
    token: Token = None
    json: Json = False


@dataclass(frozen=True, slots=True)
class LockOptions:
    """Write the best known schedule of a kernel into a lock file to commit; tune if none is known."""

    file: KernelPath
    profile: ProfileName
    function: Function = None
    settings: Settings = field(default_factory=list)
    lock: Annotated[Path, typer.Option("--lock", help="The lock file.")] = Path("warpwright.lock")
    candidates: Candidates = None
    budget: Budget = None
    effort: Effort = "normal"
    build_options: BuildOptions = field(default_factory=list)
    server: Server = None
    token: Token = None


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """Pack built candidates to be measured on a machine without a network."""

    job_or_file: Annotated[
        str, typer.Argument(metavar="JOB_OR_FILE", help="Id of a job, or a kernel file to tune first.")
    ]
    out: Annotated[Path, typer.Option("-o", "--out", help="File to write.")]
    profile: Annotated[str | None, typer.Option("--profile", "-p", help="Device, if a kernel file is given.")] = None
    function: Function = None
    settings: Settings = field(default_factory=list)
    candidates: Candidates = None
    build_options: BuildOptions = field(default_factory=list)
    server: Server = None
    token: Token = None
