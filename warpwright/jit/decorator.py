"""The decorator. Runs in the user's own process, which has TileLang already; everywhere else compilers run in child processes.

Whatever goes wrong in Warpwright, the compiler's default runs. TileLang is imported when a kernel is decorated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from warpwright.extras import needs, needs_service, needs_tuning
from warpwright.jit.places import LookupPlace, Silence
from warpwright.jit.sources import ClientSource, LockSource, Source
from warpwright.lowering.compile.options import build_options as option_names
from warpwright.lowering.compile.options import pass_configs
from warpwright.solver.domain import HardwareProfile
from warpwright.solver.profiles import load_profile

if TYPE_CHECKING:
    from warpwright.jit.kernel import When

__all__ = ["tuned"]

Variants = Sequence[Mapping[str, Any]]


@overload
def tuned(
    function: Callable[..., Any],
    *,
    profile: HardwareProfile | str,
    lock: str | Path | None = ...,
    server: str | None = ...,
    token: str | None = ...,
    tune: "When" = ...,
    effort: str = ...,
    build_options: Sequence[str] = ...,
    variants: Variants = ...,
    source: Source | None = ...,
    **options: Any,
) -> Any: ...


@overload
def tuned(
    *,
    profile: HardwareProfile | str,
    lock: str | Path | None = ...,
    server: str | None = ...,
    token: str | None = ...,
    tune: "When" = ...,
    effort: str = ...,
    build_options: Sequence[str] = ...,
    variants: Variants = ...,
    source: Source | None = ...,
    **options: Any,
) -> Callable[[Callable[..., Any]], Any]: ...


def tuned(
    function: Callable[..., Any] | None = None,
    *,
    profile: HardwareProfile | str,
    lock: str | Path | None = None,
    server: str | None = None,
    token: str | None = None,
    tune: "When" = "never",
    effort: str = "normal",
    build_options: Sequence[str] = (),
    variants: Variants = (),
    source: Source | None = None,
    **options: Any,
) -> Any:
    """Runs a TileLang kernel with its best known schedule.

    Args:
        function: a function that returns a ``@T.prim_func`` (or TileLang's eager style), a ``@tilelang.jit`` or a
            ``@tilelang.autotune`` object. The object itself is not changed.
        profile: device; its ``arch`` is the compilation target unless ``target`` is among the options.
        lock: a lock file to look in first.
        server: a server to ask; without ``server`` and ``lock``, the results of this machine.
        token: access token of the server.
        tune: ``never`` looks up only; ``background`` tunes unknown kernels in a thread, for later calls and processes;
            ``first`` tunes an unknown kernel before its first use.
        effort: the budget of such a tuning.
        build_options: names of options that change how the kernel rounds (``warpwright.lowering.compile.options``): only
            results with the same ones are used, and the compiler's default is built with them too.
        variants: parameter sets of the kernel family, the default first, as ``VARIANTS`` of a kernel file; the ``configs``
            of ``@tilelang.autotune`` without them. A call that gives none of their parameters gets the best known variant.
        source: where to look, instead of the above.
        options: TileLang's own (``out_idx``, ``target``, ``execution_backend``, ``pass_configs``, ...); they replace those
            of a ``@tilelang.jit`` object.

    Raises:
        ExtraMissing: without the extra ``kernels``, when the decorator is applied.

    Returns:
        A ``tilelang.jit`` object (or a decorator that makes one). Calling it never raises because a server or a lock file is
        unavailable: a log line says so and the compiler's default runs.
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
            variants=variants,
            source=source,
            **options,
        )
    needs("@tuned", "kernels")
    device = profile if isinstance(profile, HardwareProfile) else load_profile(profile)
    chosen = option_names(build_options, device.family, "build_options")
    places = (
        [LookupPlace(source, type(source).__name__, silence=Silence())]
        if source is not None
        else _places(lock, server, token, effort, chosen)
    )
    plain, configs = _jit(function, device, options)
    from warpwright.jit.kernel import TunedKernel

    return TunedKernel(
        plain, device, places, tune, (lambda: variants) if variants else configs, options=pass_configs(chosen)
    )


def _places(
    lock: str | Path | None, server: str | None, token: str | None, effort: str, build_options: Sequence[str]
) -> list[LookupPlace]:
    places: list[LookupPlace] = []
    if lock is not None:
        places.append(
            LookupPlace(LockSource(Path(lock), build_options=build_options), f"lock file {lock}", silence=Silence(0.0))
        )
    if server is not None or lock is None:
        stored = ClientSource(partial(_connect, server, token), effort=effort, build_options=build_options)
        places.append(LookupPlace(stored, f"server {server}" if server is not None else "the results of this machine"))
    return places


def _connect(server: str | None, token: str | None, tuning: bool) -> Any:
    from warpwright.client import Client

    if server is not None:
        return Client(server, token=token, seconds=10.0, retries=1)
    from warpwright.service.settings import Settings

    settings = Settings.from_environment()
    check = needs_tuning if tuning else needs_service
    check(settings, "@tuned on this machine", instead="name a server or a lock file")
    from warpwright.embedded import embedded_client

    return embedded_client(settings if tuning else replace(settings, job_slots=0))


def _jit(function: Any, profile: HardwareProfile, options: dict[str, Any]) -> tuple[Any, Callable[[], Variants]]:
    """TileLang's own object for the function, with the profile's arch as its target, and the kernel family's parameter sets."""
    import tilelang
    from tilelang.autotuner.tuner import AutoTuneImpl
    from tilelang.jit import JITImpl

    configs: Any = ()
    if isinstance(function, AutoTuneImpl):
        function, configs = function.jit_impl, function.configs
    target = {"target": {"kind": "cuda", "arch": profile.arch}}
    if isinstance(function, JITImpl):
        plain = replace(function, **{**(target if function.target is None else {}), **options})
    else:
        plain = tilelang.jit(**{**target, **options})(function)
    return plain, lambda: list(configs() if callable(configs) else configs)
