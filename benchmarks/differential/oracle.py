"""TileLang's own verdict on a schedule, in milliseconds. Runs in child processes only: it imports TileLang.

The passes before ``MaterializeWSSchedule`` do not look at the schedule, so they run once per kernel; then each schedule is put
on the block and only that pass runs (order of passes: TileLang 0.1.15, cuda/pipeline.py:80-122).
"""

import re
from dataclasses import replace
from typing import Any

import tilelang
from tilelang import tvm

from warpwright.lowering.frontend.storage import Storages
from warpwright.lowering.frontend.walk import WalkedKernel
from warpwright.lowering.materialize.annotate import SCHEDULE_KEY, with_schedule
from warpwright.lowering.materialize.objects import schedule_object
from warpwright.solver.domain import Fence, RoleBody, ScopeProgram, WarpSchedule

__all__ = ["Oracle"]

tirx = tvm.tirx


class Oracle:
    """One kernel, prepared; ask it of any number of schedules."""

    def __init__(self, kernel: WalkedKernel, arch: str) -> None:
        self._target = tvm.target.Target({"kind": "cuda", "arch": arch})
        names = {name: buffer.name for name, buffer in Storages(kernel).tvm_buffers().items()}
        with self._target:
            module = self._prepare(tvm.IRModule({"main": with_schedule(kernel, None)}))
        self._function = module["main"]
        self._block = _kernel_block(self._function)
        positions = {buffer.name: buffer for buffer in self._block.alloc_buffers}
        self._buffers = {name: positions[spelled] for name, spelled in names.items() if spelled in positions}

    def refusal(self, schedule: WarpSchedule) -> str | None:
        """Why TileLang refuses the schedule, None when it materialises it."""
        try:
            self.materialise(schedule)
        except AssertionError as error:
            return f"python assertion: {error}"
        except (tvm.error.InternalError, RuntimeError, ValueError, TypeError) as error:
            return _reason(str(error))
        return None

    def materialise(self, schedule: WarpSchedule) -> int:
        """Run the pass; the block's thread count afterwards. Raises what TileLang raises."""
        module = tvm.IRModule({"main": self._with(schedule)})
        with self._target:
            done = tilelang.cuda.transform.MaterializeWSSchedule()(module)
        return _thread_extent(done["main"])

    def _prepare(self, module: Any) -> Any:
        passes = tilelang.transform
        for step in (
            tirx.transform.BindTarget(self._target),
            passes.MaterializeKernelLaunch(lower_thread_binding=True, default_threads=128),
            tilelang.cuda.transform.AnnotateDeviceBoundTmaCopies(),
            passes.AddWrapperForSingleBufStore(),
            passes.LegalizeNegativeIndex(),
            passes.InjectAssumes(),
            passes.Simplify(),
            passes.CanonicalizeLegacyReducer(),
            passes.VerifyReducerEpoch(),
            passes.VerifyBufferInit(),
        ):
            module = step(module)
        return module

    def _with(self, schedule: WarpSchedule) -> Any:
        annotation = schedule_object(_without_fences(schedule), self._buffers)

        def replace(node: Any) -> Any:
            if not isinstance(node, tirx.SBlock) or str(node.name_hint) != "tilelang_root":
                return None
            parts = (node.iter_vars, node.reads, node.writes, node.name_hint, node.body, node.init)
            annotations = {**node.annotations, SCHEDULE_KEY: annotation}
            return tirx.SBlock(*parts, node.alloc_buffers, node.match_buffers, annotations)

        return self._function.with_body(
            tirx.stmt_functor.ir_transform(self._function.body, None, replace, ["tirx.SBlock"])
        )


def _without_fences(schedule: WarpSchedule) -> WarpSchedule:
    """The schedule as TileLang gets it: fences are our own statements, and the prepared kernel does not have them."""

    def kept(body: RoleBody) -> RoleBody:
        return RoleBody(body.role, tuple(entry for entry in body.instructions if not isinstance(entry, Fence)))

    programs = (ScopeProgram(program.scope, tuple(map(kept, program.bodies))) for program in schedule.scopes)
    return replace(schedule, scopes=tuple(programs))


def _kernel_block(function: Any) -> Any:
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tirx.SBlock) and str(node.name_hint) == "tilelang_root":
            found.append(node)

    tirx.stmt_functor.post_order_visit(function.body, visit)
    return found[0]


def _thread_extent(function: Any) -> int:
    extents: list[int] = []

    def visit(node: Any) -> None:
        binds = isinstance(node, tirx.AttrStmt) and str(node.attr_key) == "thread_extent"
        if binds and str(node.node.thread_tag) == "threadIdx.x":
            extents.append(int(node.value.value))

    tirx.stmt_functor.post_order_visit(function.body, visit)
    return extents[0]


def _reason(text: str) -> str:
    """The sentence after ``Check failed``, without addresses and source text, so that equal reasons are equal."""
    lines = [line for line in text.splitlines() if "ws_schedule" in line or "Check failed" in line]
    line = lines[-1] if lines else (text.splitlines() or ["?"])[-1]
    return re.sub(r"^.*?(ws_schedule: |Check failed: )", "", line)[:300]
