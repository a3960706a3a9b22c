"""Settings: plain typed values, each from one environment variable with its unit in the name. There is no other configuration."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import lru_cache
from ipaddress import ip_address
from math import isfinite
from pathlib import Path

from warpwright.solver.domain import WarpwrightError

__all__ = [
    "DEFAULT_PORT",
    "OTHER_VARIABLES",
    "TASK_RUNNERS",
    "Settings",
    "SettingsError",
    "default_data_folder",
    "is_loopback",
]

DEFAULT_PORT = 8753
TASK_RUNNERS = ("local", "celery")
"""Names of the adapters of the task runner port (``warpwright.service.task_runner_choice`` makes them)."""
MAX_PORT = 65535
_MAY_BE_ZERO = frozenset({"port", "job_slots", "build_slots", "max_wait_seconds", "shutdown_seconds", "retention_days"})
"""Settings for which zero has a meaning: any port, no runner, as many as fit, never wait, at once."""
PREFIX = "WARPWRIGHT_"
OTHER_VARIABLES = {
    "WARPWRIGHT_SERVER": "Clients and the command line: address of the service; without it, work is done on this machine.",
    "WARPWRIGHT_TOKEN": "Clients and workers: secret of an access token.",
    "WARPWRIGHT_NVCC": "Compiling children: path of nvcc, before CUDA_HOME and PATH.",
    "WARPWRIGHT_LEASES": "Measuring: folder of the locks by which processes of one machine share its devices.",
    "WARPWRIGHT_TRACE": "Children: the trace that their logs belong to. Set by their parent.",
    "WARPWRIGHT_CHILD_ID": "Children: mark of their process tree. Set by their parent.",
    "WARPWRIGHT_CHILD_SCRATCH": "Children: their temporary folder. Set by their parent.",
}
"""Variables with the prefix that are not settings of the service, and who reads them."""
OF_TESTS = "WARPWRIGHT_TEST_"


class SettingsError(WarpwrightError):
    """A setting cannot be used; ``place`` is the environment variable."""

    code = "settings-invalid"


def default_data_folder() -> Path:
    """``$XDG_DATA_HOME/warpwright``, else ``~/.local/share/warpwright``."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "warpwright"


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether a host name or address is reachable only from this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. The environment variable of ``lease_seconds`` is ``WARPWRIGHT_LEASE_SECONDS``, and so on."""

    data: Path = field(default_factory=default_data_folder)
    """Folder of the SQLite database and of the artifacts."""
    database_url: str = ""
    """SQLAlchemy URL; empty: SQLite in the data folder."""
    host: str = "127.0.0.1"
    """Address to listen on; any but loopback requires tokens."""
    port: int = DEFAULT_PORT
    """TCP port; 0: any free one."""
    require_tokens: bool = False
    """Require tokens on loopback, too: for a service behind a proxy on this machine, whose callers come from anywhere."""
    public_url: str = ""
    """Address at which people reach the dashboard through a proxy that rewrites Host; forms from it are accepted."""
    session_hours: float = 12.0
    """How long a login on the dashboard lasts."""
    max_login_failures: int = 10
    """Wrong tokens on the login page from one address within a minute; further ones are refused with 429."""
    toolchain: str = "children"
    """``children``: the real one. ``stand_in``, ``stand_in_device``, ``stand_in_children`` (every step a task of a task runner):
    the deterministic one of tests."""
    task_runner: str = "local"
    """``local`` runs children here; ``celery`` sends tasks to workers (extra ``cluster``)."""
    broker_url: str = "redis://127.0.0.1:6379/0"
    """Redis that carries tasks to workers (``task_runner`` celery)."""
    service_url: str = ""
    """Where workers reach the service; empty: at ``host`` and ``port``."""
    job_slots: int = 1
    """Jobs that run at the same time in this process; 0 serves HTTP only."""
    build_slots: int = 0
    """Candidates of one job that are built at the same time; 0: as many as cores and memory allow."""
    solve_slots: int = 4
    """Requests of ``/v1/solve`` and ``mode=now`` that run at the same time; others wait for their turn."""
    submit_slots: int = 8
    """Submissions that run at the same time, and as many lookups that have to read IR first."""
    max_waiting_requests: int = 32
    """Requests that wait for their turn in each of these; further ones are refused with 429 before their body is read."""
    lease_seconds: float = 30.0
    """A job whose runner sent no heartbeat for this long is taken over by another runner."""
    heartbeat_seconds: float = 5.0
    """How often a runner and a worker report that they are alive."""
    poll_seconds: float = 0.5
    """How late a waiting client may notice a change by another process."""
    max_attempts: int = 5
    """Attempts of a job that died with their runner or in an outage; afterwards it fails with ``attempts-exhausted``."""
    max_body_bytes: int = 64 << 20
    """Size limit of job submissions, told results and artifacts; other routes have smaller ones (``service/body_limits.py``)."""
    max_document_bytes: int = 1 << 20
    """Size limit of profiles, worker reports and forms of the dashboard, and of what comes with an IR."""
    max_login_bytes: int = 4 << 10
    """Size limit of the login form, which anybody may send."""
    max_body_values: int = 1_000_000
    """Values (numbers, strings, arrays, objects) of one JSON body: they take up to a hundred times their bytes in memory."""
    max_ir_bytes: int = 16 << 20
    """Size limit of the IR of one variant."""
    max_variants: int = 256
    """Variants of one kernel family in a job."""
    max_batch_lines: int = 10_000
    """Submissions in one batch."""
    max_batch_bytes: int = 256 << 20
    """Size limit of a batch after decompression."""
    max_wait_seconds: float = 60.0
    """How long a request may wait for a job's end (a longer wish is cut to it) or for its turn (then 429)."""
    max_streams: int = 256
    """Event streams that are open at the same time."""
    max_queued_jobs: int = 20_000
    """Jobs that wait; further ones are refused with 429."""
    child_memory_bytes: int = 8 << 30
    """Memory limit of each child process that reads, solves or compiles."""
    shutdown_seconds: float = 5.0
    """How long running steps may take to end at SIGTERM; what is left is taken over after its lease."""
    retention_days: float = 90.0
    """Artifacts that nothing refers to are removed after this many days."""
    worker_retention_days: float = 7.0
    """A worker without a heartbeat for this many days is removed, unless it is drained."""
    slow_artifact_sync: bool = True
    """fsync every artifact before its row is written; tests switch it off."""
    log_format: str = "console"
    """``console`` or ``json``."""

    def __post_init__(self) -> None:
        if self.toolchain not in ("children", "stand_in", "stand_in_device", "stand_in_children"):
            raise SettingsError(f"there is no toolchain {self.toolchain!r}", place=PREFIX + "TOOLCHAIN")
        if self.task_runner not in TASK_RUNNERS:
            raise SettingsError(f"there is no task runner {self.task_runner!r}", place=PREFIX + "TASK_RUNNER")
        if self.log_format not in ("console", "json"):
            raise SettingsError(f"there is no log format {self.log_format!r}", place=PREFIX + "LOG_FORMAT")
        for item in fields(self):
            _check_number(PREFIX + item.name.upper(), getattr(self, item.name), zero=item.name in _MAY_BE_ZERO)
        if self.port > MAX_PORT:
            raise SettingsError(f"the highest port is {MAX_PORT}", place=PREFIX + "PORT")
        scheme, found, _ = self.database_url.partition("://")
        if self.database_url and (not found or scheme.partition("+")[0] not in ("sqlite", "postgresql")):
            raise SettingsError("the database must be an sqlite:// or postgresql:// URL", place=PREFIX + "DATABASE_URL")
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise SettingsError(
                "a lease must last at least two heartbeats; otherwise one late heartbeat loses the job",
                place=PREFIX + "LEASE_SECONDS",
            )

    @property
    def url(self) -> str:
        """The database's URL, SQLite in the data folder by default."""
        return self.database_url or f"sqlite:///{self.data / 'warpwright.db'}"

    @property
    def artifacts(self) -> Path:
        """Folder of the artifact files."""
        return self.data / "artifacts"

    @property
    def tokens_required(self) -> bool:
        """Whether requests need a token: always, unless the service is reachable only from this machine."""
        return self.require_tokens or not is_loopback(self.host)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Settings":
        """Settings from ``WARPWRIGHT_*`` variables.

        Raises:
            SettingsError: ``settings-invalid`` names the one that does not parse, ``setting-unknown`` one that nobody reads.
        """
        source = os.environ if environment is None else environment
        names = {PREFIX + item.name.upper() for item in fields(cls)} | set(OTHER_VARIABLES)
        for name in sorted(source):
            if name.startswith(PREFIX) and name not in names and not name.startswith(OF_TESTS):
                raise SettingsError(
                    f"there is no setting {name}{_meant(name, names)}", code="setting-unknown", place=name
                )
        values: dict[str, object] = {}
        for item in fields(cls):
            name = PREFIX + item.name.upper()
            if name in source:
                values[item.name] = _parsed(name, source[name], item.type)
        return replace(cls(), **values)  # type: ignore[arg-type]  # values are typed by the fields themselves


def _meant(name: str, names: set[str]) -> str:
    found = get_close_matches(name, names, n=1)
    return f"; did you mean {found[0]}?" if found else "; docs/settings.md lists them all"


def _check_number(name: str, value: object, *, zero: bool) -> None:
    """Numbers are counts and durations: not negative, not infinite, and zero only where it has a meaning."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if not isfinite(value) or value < 0 or (value == 0 and not zero):
        least = "not negative" if zero else "more than 0"
        raise SettingsError(f"{name} must be {least}, not {value}", place=name)


def _parsed(name: str, text: str, kind: object) -> object:
    try:
        if kind in (int, "int"):
            return int(text)
        if kind in (float, "float"):
            return float(text)
    except ValueError as error:
        raise SettingsError(f"{name} must be a number, not {text!r}", place=name) from error
    if kind in (bool, "bool"):
        if text.lower() not in ("0", "1", "true", "false", "yes", "no"):
            raise SettingsError(f"{name} must be true or false, not {text!r}", place=name)
        return text.lower() in ("1", "true", "yes")
    return Path(text).expanduser() if kind in (Path, "Path") else text
