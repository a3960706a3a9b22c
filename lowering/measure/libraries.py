"""Vendor libraries as yardsticks: cuBLAS and cuDNN through torch, under the same protocol as candidates.

A static list: a name selects a function here, nothing else can be called. Imports torch when a call is made: the device's child
only.
"""

from collections.abc import Callable
from typing import Any

from warpwright.lowering.compile.result import Argument, CompiledKernel
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import CandidateKind, Outcome

__all__ = ["LIBRARY", "library_call", "yardstick"]

LIBRARY = "library:"

Call = Callable[[list[Any], Any], int]


def yardstick(name: str, arguments: tuple[Argument, ...]) -> CompiledKernel:
    """A library call as a kernel of the runner, with the arguments of the kernel that it is compared with."""
    if name not in _CALLS:
        raise ValueError(f"there is no library call {name!r}; choose one of {sorted(_CALLS)}")
    outcome = StepOutcome(Outcome.COMPILED, f"library call {name}")
    return CompiledKernel(CandidateKind.DEFAULT, "library", outcome, binary=LIBRARY + name, arguments=arguments)


def library_call(binary: str) -> Call:
    """The function behind a yardstick's ``binary``. The stream is torch's current one."""
    function = _CALLS[binary.removeprefix(LIBRARY)]

    def call(tensors: list[Any], stream: Any) -> int:
        function(*tensors)
        return 0

    return call


def _matmul(a: Any, b: Any, *rest: Any) -> None:
    """cuBLAS: C = A @ B^T, no epilogue."""
    import torch

    torch.matmul(a, b.t(), out=rest[-1])


def _matmul_bias_relu(a: Any, b: Any, bias: Any, c: Any) -> None:
    """cublasLt with its fused bias and ReLU epilogue."""
    import torch

    torch.ops.aten._addmm_activation.out(bias, a, b.t(), use_gelu=False, out=c)


def _attend(q: Any, k: Any, v: Any, o: Any, backend: str) -> None:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, backend)):
        torch.nn.functional.scaled_dot_product_attention(q, k, v)


def _cudnn(q: Any, k: Any, v: Any, o: Any) -> None:
    """CuDNN's attention; it allocates its own output."""
    _attend(q, k, v, o, "CUDNN_ATTENTION")


def _flash(q: Any, k: Any, v: Any, o: Any) -> None:
    """FlashAttention 2 as torch carries it; it allocates its own output."""
    _attend(q, k, v, o, "FLASH_ATTENTION")


_CALLS: dict[str, Callable[..., None]] = {
    "torch.matmul": _matmul,
    "torch.matmul_bias_relu": _matmul_bias_relu,
    "torch.sdpa_cudnn": _cudnn,
    "torch.sdpa_flash": _flash,
}
