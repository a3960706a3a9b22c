"""The compilers of a result, as one line that changes when one of them changes: part of a result's identity."""

from functools import lru_cache

from warpwright.lowering.compile import ToolchainMissing, find_cuda
from warpwright.lowering.compile.toolchain import versions
from warpwright.solver.domain import TargetFamily

__all__ = ["compilers_here"]


@lru_cache(maxsize=4)
def compilers_here(family: TargetFamily) -> str:
    """Name and version of everything on this machine that turns a schedule of this kind into a binary."""
    try:
        found = versions(find_cuda().nvcc)
    except ToolchainMissing:
        found = {"nvcc": "none"}
    if family is TargetFamily.ASCEND:
        found = {name: version for name, version in found.items() if name != "nvcc"}
    return "; ".join(f"{name} {version}" for name, version in sorted(found.items()))[:200]
