"""Gives layouts of a loaded function TileLang's own index variables again. Runs in child processes only: it reads TVM objects.

A layout's expressions use placeholders ``_i``, ``_j``, ... that TileLang compares by identity. Variables that are read from
a JSON document are others with the same names, so the layout is not a function of its indices: TileLang 0.1.15 refuses every
``T.annotate_layout`` that went through ``save_json`` ("injectivity could not be proven", layout.cc; a fragment likewise).
"""

from typing import Any

from tilelang import tvm
from tilelang.layout import Fragment, Layout

__all__ = ["own_placeholders"]

tirx = tvm.tirx
FIRST, REPLICATION = "i", "_rep"
"""The first index's letter and the replication's name, as ``layout.cc:319-341`` makes them."""
BLOCK_KEY, LOOP_KEY = "layout_map", "parallel_loop_layout"


def own_placeholders(function: Any) -> Any:
    """The function with each annotated layout rebuilt over this process's placeholders; unchanged if there are none."""
    found: list[Any] = []

    def replace(node: Any) -> Any:
        key = BLOCK_KEY if isinstance(node, tirx.SBlock) else LOOP_KEY
        if key not in node.annotations:
            return None
        found.append(node)
        value = node.annotations[key]
        made = {buffer: _anew(layout) for buffer, layout in value.items()} if key == BLOCK_KEY else _anew(value)
        return _with_annotations(node, {**dict(node.annotations), key: made})

    body = tirx.stmt_functor.ir_transform(function.body, None, replace, ["tirx.SBlock", "tirx.For"])
    return function.with_body(body) if found else function


def _with_annotations(node: Any, annotations: dict[str, Any]) -> Any:
    if isinstance(node, tirx.SBlock):
        parts = (node.iter_vars, node.reads, node.writes, node.name_hint, node.body, node.init)
        return tirx.SBlock(*parts, node.alloc_buffers, node.match_buffers, annotations)
    loop = (node.loop_var, node.min, node.extent, node.kind, node.body, node.thread_binding)
    return tirx.For(*loop, annotations, step=node.step)


def _anew(layout: Any) -> Any:
    """The same layout over this process's placeholders; what is neither kind of layout stays unchanged."""
    if type(layout) not in (Layout, Fragment):
        return layout
    dimensions = len(layout.get_input_shape())
    places = {f"_{chr(ord(FIRST) + n)}": n for n in range(dimensions)} | {REPLICATION: dimensions}

    def over(expression: Any) -> Any:
        """A function of the index variables, and of the replication variable if given."""

        def value(*given: Any) -> Any:
            def known(var: Any) -> Any:
                place = places.get(str(var.name), len(given))
                return given[place] if place < len(given) else None

            return tirx.stmt_functor.substitute(expression, _named(expression, known))

        return value

    index = list(layout.index)
    if isinstance(layout, Fragment):
        return Fragment(
            layout.get_input_shape(),
            forward_thread_fn=over(layout.thread),
            replicate=int(layout.replicate_size),
            forward_index_fn=lambda *given: tvm.runtime.convert([over(part)(*given) for part in index]),
        )
    return Layout(layout.get_input_shape(), lambda *given: [over(part)(*given) for part in index])


def _named(expression: Any, known: Any) -> dict[Any, Any]:
    """The variables of an expression that are in ``known``, with their replacements."""
    found: dict[Any, Any] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.Var) and (value := known(node)) is not None:
            found[node] = value

    tirx.stmt_functor.post_order_visit(expression, visit)
    return found
