"""Versions of the compilers that a result depends on, read from package metadata; nothing is imported."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["tilelang_version"]


def tilelang_version() -> str:
    """``tilelang 0.1.15``, or ``tilelang none`` where it is not installed."""
    try:
        return f"tilelang {version('tilelang')}"
    except PackageNotFoundError:
        return "tilelang none"
