"""TileLang IR to a driver-only shared object, with the plan read back from the build.

Reasons: docs/decisions/0033-driver-only-objects.md.
Importing this package imports no compiler; ``warpwright.lowering.compile.tasks`` and
``warpwright.lowering.compile.lower`` are for children.
"""

from warpwright.lowering.compile.result import (
    Argument,
    CompiledKernel,
    Launch,
    NotHonoured,
    PtxasMessage,
    PtxasReport,
    from_document,
    to_document,
)
from warpwright.lowering.compile.toolchain import ToolchainMissing, find_cuda

__all__ = [
    "Argument",
    "CompiledKernel",
    "Launch",
    "NotHonoured",
    "PtxasMessage",
    "PtxasReport",
    "ToolchainMissing",
    "find_cuda",
    "from_document",
    "to_document",
]
