"""TileLang IR to a driver-only shared object, with the plan read back from what was built.

Why so: docs/decisions/0033-driver-only-objects.md.
Importing this package imports no compiler; ``lowering.compile.tasks`` and ``lowering.compile.lower`` are for children.
"""

from lowering.compile.result import (
    Argument,
    CompiledKernel,
    Launch,
    NotHonoured,
    PtxasMessage,
    PtxasReport,
    Variant,
    from_document,
    to_document,
)
from lowering.compile.toolchain import ToolchainMissing, find_cuda

__all__ = [
    "Argument",
    "CompiledKernel",
    "Launch",
    "NotHonoured",
    "PtxasMessage",
    "PtxasReport",
    "ToolchainMissing",
    "Variant",
    "find_cuda",
    "from_document",
    "to_document",
]
