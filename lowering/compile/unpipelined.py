"""A kernel without TileLang's software pipelining: slower, but correct even if pipelining refuses its loops. For
children only.
"""

from typing import Any

from tvm import tirx

__all__ = ["unpipelined"]

ASKED_FOR = ("num_stages", "tl_pipeline_order", "tl_pipeline_stage", "tl_pipeline_group", "tl_pipelined_num_stages")
"""Annotations of ``T.Pipelined`` on its loop (0.1.15 wheel, ``src/ir.cc``)."""


def unpipelined(function: tirx.PrimFunc) -> tirx.PrimFunc:
    """The function itself if it has none, else one with every ``T.Pipelined`` as a plain serial loop."""

    def plain(node: Any) -> Any:
        kept = {key: value for key, value in node.annotations.items() if key not in ASKED_FOR}
        if len(kept) == len(node.annotations):
            return None
        return tirx.For(
            node.loop_var, node.min, node.extent, node.kind, node.body, node.thread_binding, kept, node.step
        )

    body = tirx.stmt_functor.ir_transform(function.body, None, plain, ["tirx.For"])
    return function if body.same_as(function.body) else function.with_body(body)
