"""The hook: TileLang's two scheduler functions, answered by the owner of the session. Child processes only.

Registered once in a process, before its first Ascend lowering: C++ keeps the function it finds at first use, and replacing
it later has no effect and is fatal at exit. All Ascend lowering in Warpwright goes through :func:`answering`, which
installs the trampoline first; the trampoline calls the current session and falls back to TileLang's own scheduler.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from warpwright.solver.domain import WarpwrightError

__all__ = ["Call", "HookError", "Observer", "Reply", "answering", "install"]

LOOP = "tl.transform.z3_schedule_loop_python"
STRAIGHT = "tl.transform.z3_schedule_python"

Call = dict[str, Any]
"""Arguments of one scheduler call by name, JSON-ready, with ``kind``."""

LoopReply = tuple[list[int], list[int], int]
Reply = LoopReply | list[int]
Answerer = Callable[[Call], Reply]
Observer = Callable[[Call, Reply], None]
"""Told of each call that TileLang's own scheduler answered, with its answer."""


class HookError(WarpwrightError):
    """The scheduler hook cannot be used in this process."""

    code = "ascend-hook"


class _State:
    installed = False
    original: dict[str, Any]
    answerer: Answerer | None = None
    observer: Observer | None = None
    failure: BaseException | None = None


def install() -> None:
    """Put the trampolines into TVM's function registry; later calls do nothing.

    Must run before the first Ascend lowering of the process; nothing else in Warpwright lowers for Ascend.
    """
    if _State.installed:
        return
    import tvm_ffi
    from tilelang.ascend.transform import z3_scheduler

    _State.original = {LOOP: z3_scheduler.z3_schedule_loop_ffi, STRAIGHT: z3_scheduler.z3_schedule_ffi}
    tvm_ffi.register_global_func(LOOP, _loop, override=True)
    tvm_ffi.register_global_func(STRAIGHT, _straight, override=True)
    _State.installed = True


@contextmanager
def answering(answerer: Answerer | None, observer: Observer | None = None) -> Iterator[None]:
    """Scheduler calls inside go to ``answerer``; None means TileLang's own scheduler, whose answers ``observer`` is told.

    An exception of either is raised again on exit: TileLang turns a failed straight-line call into
    source order and continues.
    """
    install()
    if _State.answerer is not None:
        raise HookError("one lowering at a time: another session is open in this process")
    _State.answerer, _State.observer, _State.failure = answerer, observer, None
    try:
        yield
    except Exception:
        if _State.failure is not None:
            raise _State.failure from None
        raise
    finally:
        _State.answerer = _State.observer = None
    if _State.failure is not None:
        raise _State.failure


def _ask(call: Call) -> Any:
    if _State.answerer is None:
        return _ask_tilelang(call)
    try:
        return _State.answerer(call)
    except BaseException as error:
        _State.failure = error
        raise


def _ask_tilelang(call: Call) -> Any:
    """TileLang's own answer. A straight-line list that it cannot answer keeps its source order, and nobody is told."""
    # A packed function takes no names; a call's values stand in the order of its parameters.
    arguments = [value for name, value in call.items() if name != "kind"]
    reply = _State.original[LOOP if call["kind"] == "loop" else STRAIGHT](*arguments)
    if _State.observer is not None:
        try:
            _State.observer(call, _plain(call, reply))
        except BaseException as error:
            _State.failure = error
            raise
    return reply


def _plain(call: Call, reply: Any) -> Reply:
    if call["kind"] != "loop":
        return _numbers(reply)
    starts, versions, interval = reply
    return _numbers(starts), _numbers(versions), int(interval)


def _loop(
    num_stages: int,
    latencies: Any,
    iis: Any,
    resource_flags: Any,
    data_deps: Any,
    resource_deps: Any,
    owner_exclusion_deps: Any,
    pipe_order_deps: Any,
    buffer_sizes: Any,
    memory_groups: Any,
    stage_order_deps: Any = None,
    enable_offset: bool = False,
    manual_stages: Any = None,
    manual_schedule: bool = False,
) -> Any:
    starts, versions, interval = _ask(
        {
            "kind": "loop",
            "num_stages": int(num_stages),
            "latencies": _numbers(latencies),
            "iis": _numbers(iis),
            "resource_flags": _numbers(resource_flags),
            "data_deps": _rows(data_deps),
            "resource_deps": _rows(resource_deps),
            "owner_exclusion_deps": _rows(owner_exclusion_deps),
            "pipe_order_deps": _rows(pipe_order_deps),
            "buffer_sizes": _numbers(buffer_sizes),
            "memory_groups": _rows(memory_groups),
            "stage_order_deps": _rows(stage_order_deps),
            "enable_offset": bool(enable_offset),
            "manual_stages": _numbers(manual_stages),
            "manual_schedule": bool(manual_schedule),
        }
    )
    return (starts, versions, interval)


def _straight(
    latencies: Any,
    iis: Any,
    resource_flags: Any,
    data_deps: Any,
    resource_deps: Any,
    owner_exclusion_deps: Any = None,
    pipe_order_deps: Any = None,
) -> Any:
    return _ask(
        {
            "kind": "straight",
            "latencies": _numbers(latencies),
            "iis": _numbers(iis),
            "resource_flags": _numbers(resource_flags),
            "data_deps": _rows(data_deps),
            "resource_deps": _rows(resource_deps),
            "owner_exclusion_deps": _rows(owner_exclusion_deps),
            "pipe_order_deps": _rows(pipe_order_deps),
        }
    )


def _numbers(values: Any) -> list[int]:
    return [] if values is None else [int(value) for value in values]


def _rows(values: Any) -> list[list[int]]:
    return [] if values is None else [[int(number) for number in row] for row in values]
