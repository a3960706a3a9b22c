"""``tune()`` and ``solve()``: the two calls most users need, with the command line's defaults."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from warpwright.client import Client
from warpwright.extras import needs, needs_tuning
from warpwright.kernel_file import KernelFile, read_kernel_file
from warpwright.remote import submission_of, tune_there
from warpwright.result import Result
from warpwright.service.jobs.schemas import EventView
from warpwright.service.settings import Settings
from warpwright.solver.domain import HardwareProfile, Pins, Verdict
from warpwright.solver.profiles import load_profile
from warpwright.solver.profiles.pin_domains import check_pin_domains
from warpwright.solving import solve_kernel
from warpwright.tuning.request import Effort
from warpwright.tuning.toolchain import Stop

__all__ = ["solve", "tune"]

Kernel = KernelFile | str | Path


def tune(
    kernel: Kernel,
    profile: HardwareProfile | str,
    *,
    function: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    effort: Effort | str = Effort.NORMAL,
    candidates: int | None = None,
    seconds: float | None = None,
    engine: str = "cpsat",
    pins: Pins | None = None,
    build_options: Sequence[str] = (),
    measure: bool = True,
    server: str | None = None,
    token: str | None = None,
    fresh: bool = False,
    events: Callable[[EventView], None] | None = None,
    stop: Stop | None = None,
) -> Result:
    """Finds a better schedule for a kernel, here or on a server.

    Args:
        kernel: a TileLang Python file, an IR JSON file, or what :func:`read_kernel_file` gave.
        profile: a built-in name, a TOML file, or a loaded profile.
        function: which kernel or factory of the file.
        settings: parameters of the factory; they override those of every variant.
        effort: the budget by name; ``candidates`` and ``seconds`` replace its numbers.
        candidates: how many schedules to try.
        seconds: time limit of the whole tuning.
        engine: constraint solver.
        pins: the choices that are fixed before the search.
        build_options: names of options that change how kernels round (``warpwright.lowering.compile.options``), for all
            builds alike.
        measure: time the candidates if a device of this profile is available.
        server: address of a server that does the work; without it this process does, and remembers in the data folder.
        token: access token of the server.
        fresh: ignore cached results.
        events: called with each event as it happens.
        stop: raised from another thread to end early with a partial answer.

    Raises:
        ExtraMissing: without a server, this machine cannot tune.
        KernelFileError: the file holds no kernel that can be read.
        WarpwrightError: the kernel was refused, or the profile lacks a number.
        PinError: a pin's value is outside its domain on this device.
    """
    if server is None:
        needs_tuning(Settings.from_environment(), "tuning on this machine", instead="name a server that has it")
    family = (
        kernel if isinstance(kernel, KernelFile) else read_kernel_file(kernel, function=function, settings=settings)
    )
    device = profile if isinstance(profile, HardwareProfile) else load_profile(profile)
    if pins is not None:
        check_pin_domains(pins, device)
    submission = submission_of(
        family,
        device,
        effort=Effort(effort).value,
        candidates=candidates,
        seconds=seconds,
        engine=engine,
        pins=pins,
        build_options=build_options,
        measure=measure,
        fresh=fresh,
    )
    with _client(server, token) as client:
        return tune_there(client, submission, stop=stop, events=events)


def solve(
    kernel: Kernel,
    profile: HardwareProfile | str,
    *,
    function: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    engine: str = "cpsat",
    pins: Pins | None = None,
) -> Verdict:
    """One schedule of the default variant with its proof, or the conflicting rule families. Nothing is compiled.

    Raises:
        ExtraMissing: this machine cannot solve.
        KernelFileError: the file holds no kernel that can be read.
        WarpwrightError: the kernel was refused, or the profile lacks a number.
        PinError: a pin's value is outside its domain on this device.
    """
    needs("solving on this machine", "kernels", "solve")
    family = (
        kernel if isinstance(kernel, KernelFile) else read_kernel_file(kernel, function=function, settings=settings)
    )
    device = profile if isinstance(profile, HardwareProfile) else load_profile(profile)
    if pins is not None:
        check_pin_domains(pins, device)
    return solve_kernel(family, device, engine=engine, pins=pins)


def _client(server: str | None, token: str | None) -> Client:
    if server is not None:
        return Client(server, token=token)
    from warpwright.embedded import embedded_client

    return embedded_client()
