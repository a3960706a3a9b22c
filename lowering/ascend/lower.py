"""One observed lowering of a PrimFunc to Ascend C: the layout before AutoSchedule, the versions after it, the arenas at the end.

Imports TileLang: child processes only. Works without CANN: lowering stops at source (TileLang 0.1.15 wheel,
``ascend/target.py:40-59``); nothing is compiled here.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tilelang
from tilelang import tvm
from tilelang.ascend.target import _make_ascend_target
from tilelang.jit.adapter.wrapper import TLWrapper

from warpwright.lowering.ascend.layout import Layout
from warpwright.lowering.ascend.session import Answerer, Observer, answering
from warpwright.lowering.ascend.structure import claimed_storages, read_layout
from warpwright.lowering.compile.empty_loops import guard_empty_loops
from warpwright.solver.domain import NotApplicable, WarpwrightError

__all__ = ["LoweringFailed", "Watched", "lower_watched"]

tirx = tvm.tirx


class LoweringFailed(WarpwrightError):
    """TileLang refused the kernel; the message is the first line of its error."""

    code = "lowering-failed"


@dataclass(slots=True)
class Watched:
    """The observations of one lowering.

    ``versions`` is ``tl.buffer_versions_map`` after AutoSchedule, by storage. ``arenas`` are the bytes of every merged
    on-chip allocation by storage scope, after liveness sharing: what the kernel really uses. ``shared`` names, for each
    storage, those that the compiler proved never live together with it.
    """

    source: str = ""
    launcher: str = ""
    """The source with host code around it, which bisheng compiles to a shared object."""
    layout: Layout | None = None
    versions: dict[str, int] = field(default_factory=dict)
    shared: dict[str, tuple[str, ...]] = field(default_factory=dict)
    arenas: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


def lower_watched(
    function: Any,
    answerer: Answerer | None,
    on_layout: Callable[[Layout], None] | None = None,
    observer: Observer | None = None,
) -> Watched:
    """Lower a PrimFunc; scheduler calls go to ``answerer`` (None: TileLang's own scheduler).

    ``on_layout`` is called with the layout just before AutoSchedule's first call, ``observer`` with TileLang's own answers.

    Raises:
        NotApplicable: AutoSchedule finds nothing to schedule.
        LoweringFailed: TileLang refuses the kernel.
        WarpwrightError: any error of the answerer.
    """
    function = guard_empty_loops(function)
    watched = Watched()
    explicit = claimed_storages(function)
    watcher = _watcher(watched, explicit, on_layout)
    target = _make_ascend_target()
    begin = time.monotonic()
    with answering(answerer, observer):
        try:
            with target, tvm.transform.PassContext(instruments=[watcher]):
                artifact = tilelang.lower(function, target=target)
        except WarpwrightError:
            raise
        except Exception as error:
            raise LoweringFailed(_first_line(error), place="/ir") from error
    watched.seconds = time.monotonic() - begin
    watched.source = str(artifact.kernel_source)
    watched.launcher = _launcher(function, artifact, target)
    if watched.layout is None:
        raise NotApplicable("AutoSchedule did not run", code="not-applicable-structure", place="/ir")
    return watched


def _launcher(function: Any, artifact: Any, target: Any) -> str:
    """Host code as TileLang's cython backend writes it (0.1.15 wheel, ``jit/adapter/wrapper.py:918-1045``)."""
    symbol = str(function.attrs["global_symbol"]) if "global_symbol" in function.attrs else "main"
    wrapper = TLWrapper(target)
    wrapper.assign_optimized_module(tvm.IRModule({symbol: function}))
    wrapper.assign_pass_configs({})
    wrapper.assign_host_module(artifact.host_mod)
    wrapper.assign_device_module(artifact.device_mod)
    try:
        return str(wrapper.wrap(artifact.kernel_source))
    except (ValueError, AssertionError, KeyError):
        return ""  # several kernels, or a parameter that the launcher cannot pass: then the source is the last product


def _watcher(watched: Watched, explicit: tuple[str, ...], on_layout: Callable[[Layout], None] | None) -> Any:
    @tvm.instrument.pass_instrument
    class Watcher:
        """Inspects the module around three passes."""

        def run_before_pass(self, module: Any, info: Any) -> None:
            """Reads the layout before AutoSchedule, and the sharing of storage before the merge."""
            if str(info.name) == "tl.MergeUBAllocations":
                for function in module.functions.values():
                    watched.shared.update(_aliases(function))
            if str(info.name) == "tl.AutoSchedule":
                watched.layout = read_layout(_only(module), explicit)
                if on_layout is not None:
                    on_layout(watched.layout)

        def run_after_pass(self, module: Any, info: Any) -> None:
            """Reads the selected versions after AutoSchedule, and the arenas after the merge."""
            if str(info.name) == "tl.AutoSchedule":
                watched.versions = _selected(_only(module))
            elif str(info.name) == "tl.MergeUBAllocations":
                for function in module.functions.values():
                    _add_arenas(function, watched.arenas)

    return Watcher()


def _only(module: Any) -> Any:
    functions = [f for f in module.functions.values() if isinstance(f, tirx.PrimFunc)]
    if len(functions) != 1:
        raise NotApplicable(f"{len(functions)} functions, not one", code="not-applicable-kernels", place="/ir")
    return functions[0]


def _selected(function: Any) -> dict[str, int]:
    found: dict[str, int] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SBlock) and "tl.buffer_versions_map" in node.annotations:
            for storage, count in node.annotations["tl.buffer_versions_map"].items():
                found[str(storage.name)] = int(count)

    tirx.stmt_functor.post_order_visit(function.body, visit)
    return found


def _aliases(function: Any) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}

    def read(table: Any) -> None:
        for storage, others in table.items():
            found[str(storage.name)] = tuple(str(other.name) for other in others)

    def visit(node: Any) -> None:
        if isinstance(node, tirx.AttrStmt) and node.attr_key == "tl.buffer_alias_map":
            read(node.node)
        elif isinstance(node, tirx.SBlock) and "tl.buffer_alias_map" in node.annotations:
            read(node.annotations["tl.buffer_alias_map"])

    tirx.stmt_functor.post_order_visit(function.body, visit)
    return found


def _add_arenas(function: Any, arenas: dict[str, int]) -> None:
    def visit(node: Any) -> None:
        if not isinstance(node, tirx.AllocBuffer):
            return
        buffer = node.buffer
        scope = str(buffer.scope())
        if not scope.startswith("shared"):
            return
        elements = 1
        for size in buffer.shape:
            elements *= int(size)
        bits = tvm.DataType(buffer.dtype).bits * tvm.DataType(buffer.dtype).lanes
        key = scope.removesuffix(".dyn") if scope != "shared.dyn" else "shared"
        arenas[key] = arenas.get(key, 0) + -(-elements * bits // 8)

    tirx.stmt_functor.post_order_visit(function.body, visit)


def _first_line(error: BaseException) -> str:
    if spilled := re.search(r"total spilled mutex slots \(\d+\) exceed the shared pool of \d+", str(error)):
        return f"too many event ids: {spilled.group(0)}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith(("File ", "Traceback"))]
    return (useful[-1] if useful else type(error).__name__)[:600]
