"""Warpwright: fast, provably legal execution schedules for accelerator kernels, by constraint solving.

Public names are resolved when they are first used, so that ``import warpwright`` and ``warpwright --help`` stay quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpwright.api import solve, tune
    from warpwright.client import AsyncClient, Client
    from warpwright.errors import KernelFileError, LockError, ServerError, ServerUnreachable
    from warpwright.jit import tuned
    from warpwright.kernel_file import KernelFile, KernelVariant, read_kernel_file
    from warpwright.result import Result
    from warpwright.solver.domain import Candidate, Failure, RejectedStructure

__all__ = [
    "AsyncClient",
    "Candidate",
    "Client",
    "Failure",
    "KernelFile",
    "KernelFileError",
    "KernelVariant",
    "LockError",
    "RejectedStructure",
    "Result",
    "ServerError",
    "ServerUnreachable",
    "read_kernel_file",
    "solve",
    "tune",
    "tuned",
]

_HOMES = {
    "AsyncClient": "client",
    "Candidate": "solver.domain",
    "Client": "client",
    "Failure": "solver.domain",
    "KernelFile": "kernel_file",
    "KernelFileError": "errors",
    "KernelVariant": "kernel_file",
    "LockError": "errors",
    "RejectedStructure": "solver.domain",
    "Result": "result",
    "ServerError": "errors",
    "ServerUnreachable": "errors",
    "read_kernel_file": "kernel_file",
    "solve": "api",
    "tune": "api",
    "tuned": "jit",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"warpwright.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
