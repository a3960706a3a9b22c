"""Versions of the compilers that a lock entry depends on, read from package metadata; nothing is imported.

A packaged version is the same on every platform, which a lock file is committed for; only a source tree is told by content.
"""

from importlib.metadata import PackageNotFoundError, version

from warpwright.lowering.compile.package_content import package_identity

__all__ = ["tilelang_version"]


def tilelang_version() -> str:
    """``tilelang 0.1.15``, ``tilelang source+DIGEST`` for a source tree, or ``tilelang none`` where it is not installed."""
    try:
        return f"tilelang {version('tilelang')}"
    except PackageNotFoundError:
        found = package_identity("tilelang")
        return f"tilelang {'none' if found == 'unknown' else found}"
