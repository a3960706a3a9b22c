"""What can be launched: one kernel on tensors whose sizes are fixed. Runs in child processes only: it reads TVM objects.

Nothing that is built here could start any other kernel, whoever schedules it: the launcher takes pointers and a stream. So
reading refuses such a kernel, and the compile step asks the same functions. The only other list of what cannot be built is the
compiler's own.
"""

from dataclasses import dataclass
from typing import Any

from tilelang import tvm
from tilelang.jit.adapter.wrapper import TLCUDASourceWrapper

from warpwright.solver.domain import NotBuildable

__all__ = ["Tensor", "check_launch", "is_kernel_block", "launch_tensors"]

tirx = tvm.tirx


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor parameter."""

    name: str
    dtype: str
    shape: tuple[int, ...]


def check_launch(function: Any) -> None:
    """Refuses a function that cannot be built and started with tensors alone.

    Raises:
        NotBuildable: as :func:`launch_tensors`; ``no-kernel`` and ``several-kernels`` for a function that is not one launch;
            ``symbolic-size`` for an on-chip buffer without a fixed size.
    """
    launch_tensors(function)
    launches: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SBlock) and is_kernel_block(node):
            launches.append(node)

    tirx.stmt_functor.post_order_visit(function.body, visit)
    if not launches:
        raise NotBuildable("the function has no T.Kernel, so there is nothing to launch", code="no-kernel", place="/ir")
    if len(launches) > 1:
        message = f"the function launches {len(launches)} kernels; write a function of its own for each T.Kernel"
        raise NotBuildable(message, code="several-kernels", place="/ir")
    for buffer in launches[0].alloc_buffers:
        if not all(isinstance(extent, tirx.IntImm) for extent in buffer.shape):
            message = f"the buffer {buffer.name} has the shape {list(buffer.shape)}, but on-chip memory has fixed sizes"
            raise NotBuildable(f"{message}; allocate its largest size", code="symbolic-size", place=str(buffer.name))


def is_kernel_block(block: Any) -> bool:
    """Whether a block is the body of a ``T.Kernel``, with or without ``threads=`` (materialize_kernel_launch.cc:107-116)."""
    return "tl.launch_threads" in block.annotations or block.name_hint == "tilelang_root"


def launch_tensors(function: Any) -> tuple[Tensor, ...]:
    """The parameters in call order, all of them tensors.

    Raises:
        NotBuildable: ``symbolic-size`` for a tensor whose size, stride or offset is not a number; ``scalar-parameter`` for a
            parameter that is not a tensor; ``argument-dtype`` for elements that TileLang's launcher does not have.
    """
    return tuple(_tensor(function, parameter) for parameter in function.params)


def _tensor(function: Any, parameter: Any) -> Tensor:
    if parameter not in function.buffer_map:
        name = str(parameter.name)
        message = f"the parameter {name} ({parameter.dtype}) is not a tensor; launches here pass tensors only: "
        raise NotBuildable(f"{message}{_way_out(name)}", code="scalar-parameter", place=name)
    buffer = function.buffer_map[parameter]
    name, dtype = str(buffer.name), str(buffer.dtype)
    for what, value in _numbers(buffer):
        if not isinstance(value, tirx.IntImm):
            free = _variable(value)
            message = f"the {what} {value} of {name} is known only at the launch; schedules are made for fixed sizes: "
            raise NotBuildable(f"{message}{_way_out(free)}", code="symbolic-size", place=free)
    if dtype not in TLCUDASourceWrapper._TYPE_MAP:
        message = f"{name} has elements of type {dtype}, which TileLang's launcher does not know; pass them as uint8"
        raise NotBuildable(message, code="argument-dtype", place=name)
    return Tensor(name, dtype, tuple(int(size.value) for size in buffer.shape))


def _numbers(buffer: Any) -> list[tuple[str, Any]]:
    sizes = [("size", size) for size in buffer.shape]
    return [*sizes, *(("stride", stride) for stride in buffer.strides), ("offset", buffer.elem_offset)]


def _variable(value: Any) -> str:
    found: list[str] = []
    tirx.stmt_functor.post_order_visit(value, lambda n: found.append(str(n.name)) if isinstance(n, tirx.Var) else None)
    return found[0] if found else str(value)


def _way_out(name: str) -> str:
    return f"give it a value, on the command line with --set {name}=VALUE"
