"""Protects loops that may not run at all from an error of the compiler. Runs in child processes only.

TVM simplifies a loop's extent under the assumption that the loop runs (TileLang 0.1.15 wheel,
``3rdparty/tvm/src/arith/ir_mutator_with_analyzer.cc:86``: ``extent > 0`` is assumed before the extent itself is visited). An
extent that is 0 or 1 becomes 1, and the body runs when it must not: a persistent kernel of 132 blocks over 56 tiles computed
132 of them and read far outside its tensors. The same extent inside a condition is not changed.
"""

from typing import Any

from tvm import arith, ir, tirx

__all__ = ["guard_empty_loops"]


def guard_empty_loops(function: tirx.PrimFunc) -> tirx.PrimFunc:
    """The function with ``extent`` written as ``if_then_else(extent > 0, extent, 0)`` wherever the compiler would lose this case.

    Any other function is returned unchanged.
    """
    analyzer = _analyzer(function.body)

    def guarded(node: Any) -> Any:
        if not _loses_nought(analyzer, node):
            return None
        nought = tirx.const(0, node.extent.dtype)
        extent = tirx.if_then_else(node.extent > nought, node.extent, nought)
        return tirx.For(
            node.loop_var, node.min, extent, node.kind, node.body, node.thread_binding, node.annotations, node.step
        )

    body = tirx.stmt_functor.ir_transform(function.body, None, guarded, ["tirx.For"])
    return function if body.same_as(function.body) else function.with_body(body)


def _analyzer(body: tirx.Stmt) -> arith.Analyzer:
    """An analyzer with the range of every block and loop variable and the value of every other variable, outer ones first."""
    analyzer = arith.Analyzer()
    scopes: list[Any] = []

    def collect(node: Any) -> None:
        if isinstance(node, tirx.For | tirx.Bind):
            scopes.append(node)

    tirx.stmt_functor.post_order_visit(body, collect)
    for node in reversed(scopes):
        if isinstance(node, tirx.For):
            analyzer.bind(node.loop_var, ir.Range.from_min_extent(node.min, node.extent))
        else:
            analyzer.bind(node.var, node.value)
    return analyzer


def _loses_nought(analyzer: arith.Analyzer, loop: tirx.For) -> bool:
    """Whether the extent is one constant if the loop runs, but may also be 0: the compiler would write the constant."""
    if isinstance(loop.extent, tirx.IntImm):
        return False
    with analyzer.constraint_scope(loop.extent > 0):
        running = analyzer.const_int_bound(loop.extent)
    return bool(running.min_value == running.max_value) and not analyzer.can_prove(loop.extent > 0)
