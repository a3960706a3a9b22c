"""What a locked choice was compiled with, from package metadata, and the version of our own lowering. No compiler is imported.

A packaged version is the same on every platform, which a lock file is committed for; only a source tree is identified by content.
"""

from importlib.metadata import PackageNotFoundError, version

from warpwright.lowering.compile.package_content import package_identity
from warpwright.lowering.compile.toolchain import LOWERING
from warpwright.solver.domain import TargetFamily

__all__ = ["toolchain_of"]


def toolchain_of(family: TargetFamily) -> str:
    """``tilelang 0.1.15, lowering 4`` for CUDA, without the lowering for Ascend.

    ``tilelang source+DIGEST`` for a source tree, ``tilelang none`` where it is not installed.
    """
    try:
        found = version("tilelang")
    except PackageNotFoundError:
        found = package_identity("tilelang")
        found = "none" if found == "unknown" else found
    return f"tilelang {found}, lowering {LOWERING}" if family is TargetFamily.CUDA else f"tilelang {found}"
