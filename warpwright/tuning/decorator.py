"""The decorator. Runs in the user's own process, which has TileLang already; elsewhere compilers live in child processes.

It keeps TileLang's own ``JITImpl`` and replaces its compile step: argument binding, caching and both of TileLang's modes
(a kernel object, or immediate execution) stay TileLang's. Whatever goes wrong on our side, the compiler's default runs.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from lowering.compile.options import build_options as option_names
from lowering.compile.options import pass_configs
from solver.domain import HardwareProfile, documents
from solver.profiles import load_profile
from warpwright.tuning.sources import Choice, ClientSource, LockSource, Source

__all__ = ["tuned"]

log = logging.getLogger("warpwright.tuned")

When = Literal["never", "background", "first"]


def tuned(
    function: Callable[..., Any] | None = None,
    *,
    profile: HardwareProfile | str,
    lock: str | Path | None = None,
    server: str | None = None,
    token: str | None = None,
    tune: When = "never",
    effort: str = "normal",
    build_options: Sequence[str] = (),
    source: Source | None = None,
    **options: Any,
) -> Any:
    """Runs a TileLang kernel with its best known schedule.

    Args:
        function: a function that returns a ``@T.prim_func`` (or TileLang's eager style), or a ``@tilelang.jit`` object.
        profile: device; its ``arch`` is the compilation target unless ``target`` is among the options.
        lock: a lock file to look in, before anything else.
        server: a server to look in; without one and without ``lock``, the results of this machine.
        token: access token of the server.
        tune: ``never`` looks up only; ``background`` tunes unknown kernels in a thread, for later calls and processes;
            ``first`` tunes an unknown kernel before its first use.
        effort: the budget of such a tuning.
        build_options: names of options that change how the kernel rounds (``lowering.compile.options``): only results with
            the same ones are taken, and the compiler's default is built with them too.
        source: where to look, in place of the above.
        options: TileLang's own (``out_idx``, ``target``, ``execution_backend``, ``pass_configs``, ...).

    Returns:
        A ``tilelang.jit`` object (or a decorator that makes one). Calling it never raises because a server or a lock file is
        away: a log line says so and the compiler's default runs.
    """
    if function is None:
        return partial(
            tuned,
            profile=profile,
            lock=lock,
            server=server,
            token=token,
            tune=tune,
            effort=effort,
            build_options=build_options,
            source=source,
            **options,
        )
    device = profile if isinstance(profile, HardwareProfile) else load_profile(profile)
    chosen = option_names(build_options, device.family, "build_options")
    places = [source] if source is not None else _sources(lock, server, token, effort, chosen)
    kernel = _jit(function, device, options)
    if chosen:
        kernel.pass_configs = {**(kernel.pass_configs or {}), **pass_configs(chosen)}
    return _with_best_schedule(kernel, device, places, tune)


def _sources(
    lock: str | Path | None, server: str | None, token: str | None, effort: str, build_options: Sequence[str]
) -> list[Source]:
    places: list[Source] = []
    if lock is not None:
        places.append(LockSource(Path(lock), build_options=build_options))
    if server is not None or lock is None:
        connect = partial(_connect, server, token)
        places.append(ClientSource(connect, effort=effort, build_options=build_options))
    return places


def _connect(server: str | None, token: str | None, tuning: bool) -> Any:
    from warpwright.client import Client

    if server is not None:
        return Client(server, token=token, seconds=10.0, retries=1)
    from dataclasses import replace

    from service.settings import Settings
    from warpwright.embedded import embedded_client

    settings = Settings.from_environment()
    return embedded_client(settings if tuning else replace(settings, job_slots=0))


def _jit(function: Any, profile: HardwareProfile, options: dict[str, Any]) -> Any:
    """TileLang's own object for the function, with the profile's arch as its target."""
    import tilelang
    from tilelang.autotuner.tuner import AutoTuneImpl
    from tilelang.jit import JITImpl

    if isinstance(function, AutoTuneImpl):
        function = function.jit_impl
    if isinstance(function, JITImpl):
        if function.target is None:
            function.target = {"kind": "cuda", "arch": profile.arch}
        return function
    return tilelang.jit(**{"target": {"kind": "cuda", "arch": profile.arch}, **options})(function)


def _with_best_schedule(kernel: Any, profile: HardwareProfile, places: list[Source], tune: When) -> Any:
    default = kernel.compile

    def compile_best(*arguments: Any, **keywords: Any) -> Any:
        try:
            built = _best(kernel, profile, places, tune, arguments, keywords)
        except Exception as error:  # noqa: BLE001 - the promise: whatever fails on our side, the user's kernel runs
            log.warning("%s: %s: %s; the compiler's default runs", _name(kernel), type(error).__name__, error)
            built = None
        return built if built is not None else default(*arguments, **keywords)

    kernel.compile = compile_best
    return kernel


def _best(
    kernel: Any,
    profile: HardwareProfile,
    places: list[Source],
    tune: When,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """The kernel built with the best known choice; None where the compiler's default is it, or nothing is known."""
    from tvm import ir as tvm_ir

    text: str = tvm_ir.save_json(kernel.get_tir(*arguments, **keywords))
    choice = _find(places, text, profile)
    if choice is None and tune == "first":
        places[-1].improve(_name(kernel), text, profile)
        choice = _find(places, text, profile)
    if choice is None:
        log.info("%s: no schedule is known for %s; the compiler's default runs", _name(kernel), profile.name)
        if tune == "background":
            threading.Thread(target=_improve, args=(places[-1], _name(kernel), text, profile), daemon=True).start()
        return None
    log.info("%s: %s from %s", _name(kernel), choice.kind, choice.origin)
    return _build(kernel, text, choice)


def _find(places: list[Source], ir: str, profile: HardwareProfile) -> Choice | None:
    """The first place that knows; a place that fails is passed over with a log line."""
    for place in places:
        try:
            found = place.find(ir, profile)
        except Exception as error:  # noqa: BLE001 - a server that is away must not stop the user's program
            log.warning("%s is away: %s", type(place).__name__, error)
            continue
        if found is not None:
            return found
    return None


def _improve(place: Source, name: str, ir: str, profile: HardwareProfile) -> None:
    try:
        place.improve(name, ir, profile)
    except Exception as error:  # noqa: BLE001 - a thread of ours: its failure is a log line
        log.warning("%s: tuning in the background failed: %s", name, error)


def _build(kernel: Any, ir: str, choice: Choice) -> Any:
    import tilelang
    from tvm import ir as tvm_ir

    from lowering.compile.lower import PASS_CONFIGS

    if choice.kind == "default":
        return None
    if choice.schedule is not None:
        ir = _materialized(ir, choice)
    configs = {
        name: value for kind, entry in PASS_CONFIGS.items() if kind == choice.kind for name, value in entry.items()
    }
    return tilelang.compile(
        tvm_ir.load_json(ir),
        out_idx=kernel.out_idx,
        execution_backend=kernel.execution_backend,
        target=kernel.target,
        target_host=kernel.target_host,
        verbose=kernel.verbose,
        pass_configs={**(kernel.pass_configs or {}), **configs},
        compile_flags=kernel.compile_flags,
    )


def _materialized(ir: str, choice: Choice) -> str:
    from lowering.children import Limits, Returned, run_task
    from warpwright.graphs import reply_error

    payload = {"ir": ir, "schedule": documents.dump(choice.schedule)}
    reply = run_task("materialize.warp", payload, Limits(wall_seconds=120.0))
    if not isinstance(reply, Returned):
        raise reply_error(reply, "writing the schedule")
    return str(reply.value["ir"])


def _name(kernel: Any) -> str:
    return str(getattr(kernel.func, "__name__", "kernel"))
