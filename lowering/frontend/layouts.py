"""How TileLang lays out a kernel's fragments: their registers, and the widths at which it finds no layout at all.

TileLang's own layout inference is asked, with the kernel's threads and with other numbers of warpgroups. A fragment's layout may
hold one element in many threads (row statistics in four, a broadcast vector in all), so its size in elements says little. Whether
there is a layout depends on the width: if a product's columns are divided over warpgroups, a second product cannot take the rows
of its result as an operand. Runs in child processes only: it runs compiler passes.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import tilelang
from tilelang import tvm
from tilelang.layout import Fragment

from warpwright.lowering.frontend.launch import is_kernel_block
from warpwright.lowering.frontend.walk import WalkedKernel
from warpwright.solver.device.limits import WARPGROUP, WARPGROUP_THREADS
from warpwright.solver.device.wgmma import is_wgmma, partition
from warpwright.solver.domain import GemmShape, RefusedWidth

__all__ = ["Layouts", "layouts_of"]

log = logging.getLogger("warpwright.lowering.frontend.layouts")
tirx = tvm.tirx
REGISTER_BITS = 32
LARGEST_WIDTH = 7
"""Warpgroups of the largest block, without the one that loads (CUDA programming guide: 1024 threads a block)."""
REASON_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Layouts:
    """``registers``: fragment name -> 32-bit registers over all threads of the kernel; empty if the inference fails.

    ``refused``: widths that were asked for and refused; none if the inference fails with the kernel's own threads.
    """

    registers: dict[str, int] = field(default_factory=dict)
    refused: tuple[RefusedWidth, ...] = ()


def layouts_of(kernel: WalkedKernel, arch: str, products: Sequence[GemmShape]) -> Layouts:
    """The layouts of a kernel's fragments with its own threads, and the other widths that have none.

    Only kernels with products are run by other widths than their own, and only such widths are asked for that every warpgroup
    product can be divided over. An inference takes up to a second, so a kernel without a second fragment, whose layout could
    be in the way of the first one's, is not asked about.
    """
    found = _inferred(kernel.function, arch)
    if isinstance(found, str):
        # A kernel whose layouts cannot be inferred fails to compile later, with TileLang's own message.
        log.info("no layouts: %s", found)
        return Layouts()
    refused = [
        RefusedWidth(groups, reason)
        for groups in (_widths(kernel, products) if products and _may_conflict(kernel) else ())
        if isinstance(reason := _inferred(_with_threads(kernel.function, WARPGROUP_THREADS * groups), arch), str)
    ]
    return Layouts(_registers(found), tuple(refused))


def _widths(kernel: WalkedKernel, products: Sequence[GemmShape]) -> list[int]:
    divided = [shape for shape in products if is_wgmma(shape)]
    return [
        groups
        for groups in range(1, LARGEST_WIDTH + 1)
        if WARPGROUP_THREADS * groups != kernel.threads
        and all(partition(shape, WARPGROUP * groups) is not None for shape in divided)
    ]


def _may_conflict(kernel: WalkedKernel) -> bool:
    fragments = sum(str(buffer.scope()) == "local.fragment" for buffer in kernel.block.alloc_buffers)
    annotated = kernel.block.annotations.get("layout_map", {})
    return fragments > 1 or any(isinstance(layout, Fragment) for layout in annotated.values())


def _with_threads(function: Any, threads: int) -> Any:
    def replace(node: Any) -> Any:
        if not is_kernel_block(node):
            return None
        annotations = {**node.annotations, "tl.launch_threads": [tirx.IntImm("int32", threads)]}
        parts = (node.iter_vars, node.reads, node.writes, node.name_hint, node.body, node.init)
        return tirx.SBlock(*parts, node.alloc_buffers, node.match_buffers, annotations)

    return function.with_body(tirx.stmt_functor.ir_transform(function.body, None, replace, ["tirx.SBlock"]))


def _inferred(function: Any, arch: str) -> Any:
    """The function with its layouts, or TileLang's reason why there are none.

    The passes are those up to ``LayoutInference``, without specialisation (TileLang 0.1.15, cuda/pipeline.py:80-160).
    """
    passes = tilelang.transform
    try:
        target = tvm.target.Target({"kind": "cuda", "arch": arch})
        with target:
            module = tvm.IRModule({"main": function})
            for step in (
                tirx.transform.BindTarget(target),
                passes.MaterializeKernelLaunch(lower_thread_binding=True, default_threads=128),
                tilelang.cuda.transform.AnnotateDeviceBoundTmaCopies(),
                passes.AddWrapperForSingleBufStore(),
                passes.LegalizeNegativeIndex(),
                passes.InjectAssumes(),
                passes.Simplify(),
                passes.CanonicalizeLegacyReducer(),
                passes.IfStmtBinding(),
                passes.Simplify(),
                passes.LayoutInference(),
            ):
                module = step(module)
    except (tvm.error.InternalError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return (lines[0] if lines else type(error).__name__).rstrip(":")[:REASON_CHARACTERS]
    return module["main"]


def _registers(function: Any) -> dict[str, int]:
    found: dict[str, int] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SBlock) and "layout_map" in node.annotations:
            types = {str(buffer.data.name): buffer for buffer in node.alloc_buffers}
            for data, layout in node.annotations["layout_map"].items():
                name = str(data.name)
                if isinstance(layout, Fragment) and name in types:
                    found[name] = _words(layout, tvm.DataType(types[name].dtype))

    tirx.stmt_functor.post_order_visit(function.body, visit)
    return found


def _words(layout: Any, dtype: Any) -> int:
    """Registers of all threads: each thread's elements, packed, times the threads of the layout."""
    each = prod(int(extent) for extent in layout.get_output_shape())
    words = -(-each * int(dtype.bits) * int(dtype.lanes) // REGISTER_BITS)
    return words * int(layout.get_thread_size())
