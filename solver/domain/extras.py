"""Extras of the installed package: which modules each provides, and the error that says how to get a missing one.

A test compares the table with ``pyproject.toml``.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from warpwright.solver.domain.errors import ExtraMissing

__all__ = ["EXTRAS", "extra_missing", "missing_of"]

EXTRAS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "solve": ("numpy", "ortools", "z3"),
        "serve": (
            "alembic",
            "fastapi",
            "jinja2",
            "markupsafe",
            "opentelemetry",
            "prometheus_client",
            "sqlalchemy",
            "starlette",
            "structlog",
            "uvicorn",
        ),
        "kernels": ("tilelang", "torch"),
        "cluster": ("celery", "kombu", "redis"),
        "postgres": ("psycopg",),
    }
)
"""Top-level modules by the extra that provides them. If several extras provide the same one, the first has it here."""

_INSIDE = {"tvm": "kernels"}
"""TileLang keeps its TVM inside its own package: it is imported, and cannot be looked for."""


def extra_missing(doing: str, extras: Sequence[str], modules: Sequence[str], instead: str = "") -> ExtraMissing:
    """The error for ``doing`` without ``modules``, which come with ``extras``; ``instead`` is an alternative."""
    remedy = f"pip install 'warpwright[{','.join(extras)}]'"
    other = f", or {instead}" if instead else ""
    return ExtraMissing(f"{doing} needs packages that are not installed ({', '.join(modules)}): {remedy}{other}")


def missing_of(module: str | None, doing: str, among: Collection[str] = EXTRAS) -> ExtraMissing | None:
    """The error for an import of ``module`` that failed; None when no extra ``among`` these brings it."""
    top = (module or "").partition(".")[0]
    brings = (name for name in EXTRAS if name in among and (top in EXTRAS[name] or _INSIDE.get(top) == name))
    extra = next(brings, None)
    return extra_missing(doing, [extra], [top]) if extra is not None else None
