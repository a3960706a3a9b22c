"""The IR of a stored choice, verified again before it is used.

Imports TVM, because the user's own process has it already; everywhere else compilers run in child processes.
"""

import atexit
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tvm import ir as tvm_ir

from warpwright.graphs import read_kernel, reply_error
from warpwright.jit.own_choice import OwnChoice, own_choice
from warpwright.jit.sources import KnownChoice
from warpwright.legality import violations_of
from warpwright.lowering.compile.empty_loops import guard_empty_loops
from warpwright.lowering.compile.lower import PASS_CONFIGS
from warpwright.lowering.frontend.placeholders import own_placeholders
from warpwright.solver.domain import CandidateKind, HardwareProfile, Schedule, WarpwrightError, documents
from warpwright.tuning.children import ChildPool, Limits, Returned, users_environment

__all__ = ["built_from"]

WRITING = Limits(wall_seconds=120.0)

IDLE_SECONDS = 20.0
"""A child with TileLang in it holds half a gigabyte."""


def built_from(ir: str, choice: KnownChoice, profile: HardwareProfile, given: Mapping[str, Any]) -> OwnChoice | None:
    """The function to compile and its pass configurations; None for the compiler's default as it is.

    The function is protected against the compiler's removal of empty loops, as it was when it was measured
    (``warpwright.lowering.compile.empty_loops``). ``given`` are the user's own pass configurations.

    Raises:
        WarpwrightError: ``schedule-illegal``; ``choice-unknown``; ``choice-refused``, ``choice-unfenced`` of one of the
            compiler's own choices; any error of reading the kernel or writing the schedule.
    """
    kind = next((entry for entry in CandidateKind if entry.value == choice.kind), None)
    if kind is None:
        raise WarpwrightError(f"there is no choice {choice.kind!r}", code="choice-unknown")
    if choice.schedule is None:
        made = own_choice(ir, kind, profile, given)
        return made if made.changed else None
    text = _scheduled(ir, choice.schedule, profile)
    function = guard_empty_loops(own_placeholders(tvm_ir.load_json(text)))
    return OwnChoice(function, PASS_CONFIGS[kind], changed=True, kind=kind)


@dataclass(slots=True)
class _WarmChild:
    """A child of this program that reads its kernels and writes their schedules.

    A program builds several kernels one after the other, and a new child would load TileLang for seconds each time. It ends
    when it has had no work for ``IDLE_SECONDS``.
    """

    pool: ChildPool
    process: int
    ending: threading.Timer | None = None


_lock = threading.Lock()
_child: _WarmChild | None = None


@contextmanager
def _warm_child() -> Iterator[ChildPool]:
    """This process's child; a process that was forked from it gets one of its own."""
    global _child
    with _lock:
        if _child is None or _child.process != os.getpid():
            pool = ChildPool(1, environment=users_environment())
            atexit.register(pool.close)
            _child = _WarmChild(pool, os.getpid())
        child = _child
    try:
        yield child.pool
    finally:
        with _lock:
            if child.ending is not None:
                child.ending.cancel()
            # A child at work is not idle, and stays.
            child.ending = threading.Timer(IDLE_SECONDS, child.pool.retire)
            child.ending.daemon = True
            child.ending.start()


def _scheduled(ir: str, schedule: Schedule, profile: HardwareProfile) -> str:
    with _warm_child() as pool:
        graph, _ = read_kernel(ir, profile, pool=pool)
        if broken := violations_of(graph, profile, schedule):
            message = f"the stored schedule is illegal: {broken[0].family}: {broken[0].message}"
            raise WarpwrightError(message, code="schedule-illegal", place=broken[0].place)
        reply = pool.run("materialize.warp", {"ir": ir, "schedule": documents.dump(schedule)}, WRITING)
    if not isinstance(reply, Returned):
        raise reply_error(reply, "writing the schedule")
    return str(reply.value["ir"])
