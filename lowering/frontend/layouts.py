"""How many registers fragments really use: TileLang's own layout inference on the kernel as it is.

A fragment's layout may hold one element in many threads (row statistics in four, a broadcast vector in all), so its size in
elements says little. Runs in child processes only: it runs compiler passes.
"""

import logging
from math import prod
from typing import Any

import tilelang
from tilelang import tvm
from tilelang.layout import Fragment

__all__ = ["fragment_registers"]

log = logging.getLogger("warpwright.lowering.frontend.layouts")
tirx = tvm.tirx
REGISTER_BITS = 32


def fragment_registers(function: Any, arch: str) -> dict[str, int]:
    """Fragment name -> 32-bit registers over all threads of the kernel; empty if the inference fails.

    The passes are those before and including ``LayoutInference`` without specialisation (TileLang 0.1.15,
    cuda/pipeline.py:80-160), so the thread count is the kernel's own.
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
        # A kernel whose layouts cannot be inferred fails to compile later, with TileLang's own message.
        log.info("no layouts: %s", str(error).splitlines()[-1:] or error)
        return {}
    return _registers(module["main"])


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
