"""The problems: two example families at three sizes, and the library calls that they are compared with."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PROBLEMS", "Problem"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One family at one size. ``flops`` is the usual count in the literature, without epilogue and softmax.

    ``yardsticks`` are library calls; the table compares with the first one.
    """

    name: str
    title: str
    kernel_file: str
    size: Mapping[str, int]
    flops: float
    yardsticks: tuple[str, ...]
    options: tuple[str, ...] = ()
    """Build options that everything (TileLang's own choices too) is built with, in addition to a plain build."""


def _gemm(n: int) -> Problem:
    return Problem(
        name=f"gemm_{n}",
        title=f"GEMM {n}x{n}x{n} bf16, bias and ReLU fused",
        kernel_file="examples/gemm.py",
        size={"M": n, "N": n, "K": n},
        flops=2.0 * n**3,
        yardsticks=("torch.matmul", "torch.matmul_bias_relu"),
    )


def _attention(batch: int, heads: int, seq: int, dim: int) -> Problem:
    return Problem(
        name=f"attention_{batch}_{heads}_{seq}_{dim}",
        title=f"attention forward B{batch} H{heads} S{seq} D{dim} bf16",
        kernel_file="examples/attention.py",
        size={"batch": batch, "heads": heads, "seq": seq, "dim": dim},
        flops=4.0 * batch * heads * seq * seq * dim,
        yardsticks=("torch.sdpa_cudnn", "torch.sdpa_flash"),
        options=("flush_denormals",),
    )


PROBLEMS = {
    problem.name: problem
    for problem in (_gemm(8192), _attention(4, 16, 8192, 128), _gemm(4096), _attention(4, 16, 4096, 128))
}
"""In the order in which they are measured. The last is for ``--only``."""

DEFAULT = ("gemm_8192", "attention_4_16_8192_128", "gemm_4096")
