"""The local runner: warm children on this machine, one pool for compilers and one for constraint solvers.

Two pools, because TileLang's children are large and slow to start, and a solve must not wait behind a compilation.
"""

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpwright.tuning import telemetry
from warpwright.tuning.children import ChildPool, Limits, parallel_slots
from warpwright.tuning.children.process import OnEvent
from warpwright.tuning.task_runner import TaskAnswer
from warpwright.tuning.task_runners.queues import QUEUES, SOLVER_TASKS

__all__ = ["LocalRunner", "files_in", "keep"]

COMPILE_MEMORY_BYTES = 3 << 30
"""The most that one TileLang child with its compiler was seen to use; decides how many fit at the same time."""


class LocalRunner:
    """Runs tasks in supervised children of this process."""

    def __init__(self, builders: int = 0, solvers: int = 1, *, warm: bool = True) -> None:
        self.builders = builders or parallel_slots(COMPILE_MEMORY_BYTES)
        # One more than the builders, so that a submission can be read while all of them compile.
        self._builders = ChildPool(self.builders + 1, warm_task="compile.cuda" if warm else None)
        self._solvers = ChildPool(solvers, warm_task="propose.warp" if warm else None)

    def run(
        self,
        task: str,
        payload: dict[str, Any],
        limits: Limits,
        *,
        cancel: threading.Event,
        trace: str = "",
        output: bool = False,
        on_event: OnEvent | None = None,
        inputs: Mapping[str, bytes] | None = None,
    ) -> TaskAnswer:
        """Run one task in a warm child."""
        pool = self._solvers if task.startswith(SOLVER_TASKS) else self._builders
        with (
            telemetry.span(f"task {task}") as span,
            tempfile.TemporaryDirectory(prefix="warpwright-task-") as folder,
        ):
            payload, outputs = {**payload}, Path(folder, "output")
            if inputs:
                payload["input"] = keep(inputs, Path(folder, "input"))
            if output:
                outputs.mkdir()
                payload["output"] = str(outputs)
            trace = telemetry.traceparent() or trace
            reply = pool.run(task, payload, limits, trace=trace, cancel=cancel, on_event=on_event)
            telemetry.ended(span, reply)
            return TaskAnswer(reply, files_in(outputs))

    def offers(self, capability: str) -> bool:
        """Everything but measuring; the service itself measures on devices of this machine."""
        return capability in QUEUES

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        """None: this machine works itself."""
        return ()

    def compilers(self, capability: str) -> str:
        """This machine's."""
        return ""

    def available(self) -> bool:
        """Always: this machine is here."""
        return True

    def close(self) -> None:
        """End all children."""
        self._builders.close()
        self._solvers.close()


def files_in(folder: Path) -> dict[str, bytes]:
    """Plain files of a folder and its folders, by relative path; links are not followed."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def keep(files: Mapping[str, bytes], folder: Path) -> str:
    """Write a task's inputs into a folder of its own, by plain name; returns the folder."""
    folder.mkdir()
    for name, data in files.items():
        (folder / Path(name).name).write_bytes(data)
    return str(folder)
