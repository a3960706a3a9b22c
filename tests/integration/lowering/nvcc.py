"""Whether this machine can compile, for tests that do."""

from warpwright.lowering.compile.toolchain import ToolchainMissing, find_cuda

__all__ = ["no_nvcc"]


def no_nvcc() -> bool:
    """Whether there is no nvcc."""
    try:
        find_cuda()
    except ToolchainMissing:
        return True
    return False
