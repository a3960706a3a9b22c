"""``python -m benchmarks.build_rate.capture PROGRAM FOLDER``: records a TileLang program's kernels.

The program runs as ``__main__``, without a device. Its tensors have shapes but no data (torch's meta device), a kernel's call
records the kernel and returns tensors of the right shapes, and packages that are not installed are stand-ins, because programs
import them only to compare results. What the program does after its kernels were recorded does not matter. ``FOLDER`` gets one
JSON file of IR for each kernel and ``kernels.json``: how each one was asked for, and how the program ended.
"""

import importlib.abc
import importlib.machinery
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any
from unittest.mock import MagicMock

import tilelang
import tilelang.jit
import torch
from tilelang import tvm
from tilelang.autotuner.tuner import AutoTuneImpl
from tilelang.jit import JITImpl
from torch.overrides import TorchFunctionMode

__all__ = ["main"]

NAME = "NVIDIA H200"
STATE_OF_DEVICE: dict[str, Any] = {
    "is_available": True,
    "device_count": 1,
    "current_device": 0,
    "get_device_capability": (9, 0),
    "get_device_name": NAME,
    "synchronize": None,
    "empty_cache": None,
    "set_device": None,
    "manual_seed": None,
    "manual_seed_all": None,
}
ELEMENTS = {"float8_e4m3": "float8_e4m3fn", "uint16": "int16", "uint32": "int32"}
"""Torch's names of element types that it calls otherwise or does not have."""
OPEN_SIZE = 4096
"""Stands for a size that the kernel leaves open."""


class Device(MagicMock):
    """Properties of the device, as torch and TileLang describe it."""

    major, minor, name, warp_size = 9, 0, NAME, 32
    multi_processor_count, total_memory, L2_cache_size = 132, 141 << 30, 50 << 20
    shared_memory_per_block_optin, shared_memory_per_multiprocessor = 232_448, 233_472
    regs_per_multiprocessor, max_threads_per_multi_processor = 65_536, 2_048


class WithoutDevice(TorchFunctionMode):  # type: ignore[misc]  # torch has no types here
    """Every tensor that is asked for on a CUDA device is on the meta device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Replaces the device in calls that name one."""
        kwargs = dict(kwargs or {})
        if func.__name__ == "cuda":
            return args[0].to("meta")
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = "meta"
        if func.__name__ == "to":
            args = tuple("meta" if _is_cuda(value) else value for value in args)
        return func(*args, **kwargs)


def _is_cuda(value: Any) -> bool:
    return isinstance(value, str | torch.device) and str(value).startswith("cuda")


class StandIn(ModuleType):
    """A package that is not installed: everything in it can be called; a call gives its first argument and something else."""

    __file__ = "not-installed"

    def __getattr__(self, name: str) -> Any:
        """Any function, class or constant."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **_: _pair(args[0] if args else MagicMock())


def _pair(first: Any) -> Any:
    """What a function of a package that is not installed gives: one value, or two for who wants two."""
    if callable(first):  # a decorator
        return first
    made = MagicMock(unsafe=True)
    made.__iter__.side_effect = lambda: iter((first, MagicMock(unsafe=True)))
    return made


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nobody else finds."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A stand-in for a package of the program; optional parts of installed packages stay missing."""
        importer: FrameType | None = sys._getframe(1)
        while importer is not None and "importlib" in importer.f_code.co_filename:
            importer = importer.f_back
        if importer is None or "site-packages" in importer.f_code.co_filename:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """A module that has everything."""
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs."""


class Recorder:
    """Saves each different kernel once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[str] = set()
        self.kernels: list[dict[str, Any]] = []

    def save(self, function: Any, name: str, parameters: dict[str, Any]) -> None:
        """Save a ``PrimFunc`` with the call that asked for it."""
        text = tvm.ir.save_json(function)
        if text in self._seen:
            return
        self._seen.add(text)
        file = f"{len(self.kernels):02d}-{name}.json"
        (self._folder / file).write_text(text)
        plain = {key: value for key, value in parameters.items() if isinstance(value, bool | int | float | str | None)}
        self.kernels.append({"file": file, "name": name, "parameters": plain})


class Kernel(MagicMock):
    """A compiled kernel: a call gives empty tensors."""

    def __init__(self, function: Any = None, outputs: Sequence[int] = (), **named: Any) -> None:
        super().__init__(unsafe=True, **named)
        self._made = _tensors(function, outputs) if function is not None else ()
        self.latency = self.ref_latency = 1.0

    def __call__(self, *_: Any, **__: Any) -> Any:
        """The outputs, a tuple if there are several."""
        return self._made[0] if len(self._made) == 1 else self._made or None

    def _get_child_mock(self, **named: Any) -> MagicMock:
        return MagicMock(unsafe=True, **named)


def _tensors(function: Any, outputs: Sequence[int]) -> tuple[torch.Tensor, ...]:
    buffers = [function.buffer_map[parameter] for parameter in function.params if parameter in function.buffer_map]
    made = []
    for index in outputs:
        shape = [int(size) if isinstance(size, tvm.tirx.IntImm) else OPEN_SIZE for size in buffers[index].shape]
        dtype = str(buffers[index].dtype)
        made.append(torch.empty(shape, dtype=getattr(torch, ELEMENTS.get(dtype, dtype)), device="meta"))
    return tuple(made)


def _outputs(function: Any, chosen: Any) -> list[int]:
    if chosen is None and function.attrs is not None and "tilelang_out_idx" in function.attrs:
        chosen = [int(index) for index in function.attrs["tilelang_out_idx"]]
    return [chosen] if isinstance(chosen, int) else list(chosen or ())


def _install(recorder: Recorder) -> None:
    """Put the recorder in the place of TileLang's compilation."""

    def made(impl: Any, args: Any, kwargs: Any) -> tuple[Any, Kernel]:
        kwargs = {key: value for key, value in kwargs.items() if not key.startswith("__")}
        function = impl.get_tir(*args, **kwargs)
        name = str(getattr(impl.func, "__name__", None) or impl.func.orig_func.__name__)
        try:
            parameters = dict(impl.signature.bind(*args, **kwargs).arguments)
        except TypeError:
            parameters = kwargs
        recorder.save(function, name, parameters)
        return function, Kernel(function, _outputs(function, impl.out_idx))

    def called(impl: Any, *args: Any, **kwargs: Any) -> Any:
        _, kernel = made(impl, args, kwargs)
        return kernel() if impl.mode == "eager" else kernel

    def compiled(impl: Any, *args: Any, **kwargs: Any) -> Any:
        return made(impl, args, kwargs)[1]

    def first_choice(tuner: Any, args: Any, kwargs: Any) -> dict[str, Any]:
        choices = tuner.configs(*args, **kwargs) if callable(tuner.configs) else tuner.configs
        return {**next(iter(choices), {}), **kwargs}

    def finished(function: Any, out_idx: Any = None, *_: Any, **__: Any) -> Any:
        recorder.save(function, str(function.attrs["global_symbol"]) if function.attrs else "main", {})
        return Kernel(function, _outputs(function, out_idx))

    JITImpl.__call__ = called
    JITImpl.compile = compiled
    AutoTuneImpl.__call__ = lambda tuner, *args, **kwargs: called(
        tuner.jit_impl, *args, **first_choice(tuner, args, kwargs)
    )
    tilelang.compile = tilelang.jit.compile = finished


def _pretend_device() -> None:
    for name, value in STATE_OF_DEVICE.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)
    device = Device()
    torch.cuda.get_device_properties = lambda *_, **__: device
    torch.Tensor.cuda = lambda self, *_, **__: self.to("meta")
    torch.compile = lambda function=None, **__: function or (lambda inner: inner)
    from tilelang.carver.arch.driver import cuda_driver

    cuda_driver.get_cuda_device_properties = lambda *_, **__: device
    tilelang.profiler.do_bench = lambda *_, **__: 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Record one program's kernels; the exit code says whether there was any."""
    program, folder = map(Path, arguments if arguments is not None else sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    _pretend_device()
    recorder = Recorder(folder)
    _install(recorder)
    sys.meta_path.append(Missing())
    sys.argv, sys.dont_write_bytecode = [str(program)], True
    sys.path.insert(0, str(program.parent))
    ended = "finished"
    try:
        with WithoutDevice():
            runpy.run_path(str(program), run_name="__main__")
    except BaseException as error:  # noqa: BLE001 - whatever a foreign program raises, SystemExit included, is how it ended
        ended = f"{type(error).__name__}: {error}"[:300]
    (folder / "kernels.json").write_text(json.dumps({"ended": ended, "kernels": recorder.kernels}, indent=1) + "\n")
    return 0 if recorder.kernels else 1


if __name__ == "__main__":
    sys.exit(main())
