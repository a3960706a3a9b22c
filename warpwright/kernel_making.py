"""What a kernel file names becomes kernels: factories, ``@tilelang.jit`` objects of both styles, classes, several at once.

Imports TileLang: runs in a child on the user's side only. Values go to whoever takes them: first the parameters of the outer
function, then those of the function that it returns, and what is left names sizes that the kernel leaves open.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpwright.errors import KernelFileError
from warpwright.kernel_launches import launches_of
from warpwright.kernel_module import guarded
from warpwright.kernel_sizes import bound, has_open
from warpwright.lowering.frontend.settings_attributes import with_author_settings

__all__ = ["Maker", "is_autotune", "is_jit", "is_prim_func", "made"]

DEPTH = 8
"""Functions that return functions; deeper ones are a mistake of the file."""
NO_VALUE = "Cannot find value for constexpr variable"
"""How TileLang 0.1.15 begins its error for a ``T.const`` size without a value (eager/builder.py)."""


@dataclass(slots=True)
class Maker:
    """How the file calls what makes the kernel, for messages, and the values that nobody has taken yet."""

    path: Path
    name: str
    left: dict[str, Any] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The name with all parameters that were met on the way."""
        return f"{self.name}({', '.join(self.needed)})" if self.needed else self.name

    def lacks(self, why: str) -> KernelFileError:
        """The error for values that are missing."""
        message = f"{self.words}: {why}; give values with --set NAME=VALUE"
        return KernelFileError(message, code="kernel-file-needs-arguments", place=str(self.path))


def made(target: Any, values: Mapping[str, Any], path: Path, name: str, *, shared: bool = False) -> dict[str, Any]:
    """The kernels (``PrimFunc``) that a target gives for these values, by name; most give one, which has the name ``""``.

    ``shared``: the values are for other kernels of the file, too, so one that this kernel does not have is not a mistake.

    Raises:
        KernelFileError: ``kernel-file-needs-arguments``, ``-not-a-kernel``, ``-raised``, ``-bad-size``.
    """
    maker = Maker(path, name, dict(values))
    kernels = _followed(target, maker, DEPTH)
    only = len(kernels) == 1 and not shared
    opened = {key: value for key, value in maker.left.items() if only or _takes(kernels, key)}
    unknown = set() if shared else maker.left.keys() - opened.keys()
    if unknown:
        raise maker.lacks(f"no kernel of it has a parameter or an open size {', '.join(map(repr, sorted(unknown)))}")
    sized = {key: bound(each, _own(each, opened, only=only), maker.words, str(path)) for key, each in kernels.items()}
    return {
        _joined(key, launch): function for key, each in sized.items() for launch, function in launches_of(each).items()
    }


def _takes(kernels: Mapping[str, Any], key: str) -> bool:
    return any(has_open(each, key) for each in kernels.values())


def _own(function: Any, opened: Mapping[str, Any], *, only: bool) -> dict[str, Any]:
    """The values for one of several kernels: those that it has; the only kernel gets all, and its error names what it lacks."""
    return {key: value for key, value in opened.items() if only or has_open(function, key)}


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _followed(target: Any, maker: Maker, depth: int) -> dict[str, Any]:
    """The kernels behind a target: functions are called as long as they return functions."""
    if is_prim_func(target):
        return {"": with_author_settings(target)}
    if is_autotune(target):
        target = target.jit_impl
    if is_jit(target):
        function = _from_jit(target, maker)
        return {"": with_author_settings(function, target.pass_configs, target.compile_flags)}
    if isinstance(target, Mapping | tuple | list) and target:
        return _several(target, maker, depth)
    if is_prim_func(getattr(target, "prim_func", None)):  # a compiled kernel
        configs, flags = (getattr(target, name, None) for name in ("pass_configs", "compile_flags"))
        return {"": with_author_settings(target.prim_func, configs, flags)}
    if not callable(target) or not depth:
        what = (
            f"gave a {type(target).__name__}, not a @T.prim_func"
            if maker.needed or depth < DEPTH
            else "is not a kernel"
        )
        raise KernelFileError(f"{maker.words} {what}", code="kernel-file-not-a-kernel", place=str(maker.path))
    return _followed(called(target, maker), maker, depth - 1)


def _several(target: Any, maker: Maker, depth: int) -> dict[str, Any]:
    entries = target.items() if isinstance(target, Mapping) else enumerate(target)
    found: dict[str, Any] = {}
    for key, each in entries:
        for inner, function in _followed(each, maker, depth - 1 if depth else 0).items():
            own = key if isinstance(key, str) else _symbol(function) or str(key)
            name = _joined(own, inner)
            found[name if name not in found else f"{name}_{key}"] = function
    return found


def _symbol(function: Any) -> str:
    attributes = function.attrs
    return str(attributes["global_symbol"]) if attributes is not None and "global_symbol" in attributes else ""


def called(function: Any, maker: Maker) -> Any:
    """What a function, or a class, gives for the values that it takes; the rest stays for what it returned."""
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    maker.needed += [str(parameter) for parameter in parameters]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    own = {key: value for key, value in maker.left.items() if takes_any or key in signature.parameters}
    try:
        signature.bind(**own)
    except TypeError as error:
        raise maker.lacks(str(error)) from None
    maker.left = {key: value for key, value in maker.left.items() if key not in own}
    return guarded(lambda: function(**own), maker.path)


def _from_jit(target: Any, maker: Maker) -> Any:
    """The kernel of a ``@tilelang.jit`` object; in the eager style its tensors need no value, but their sizes do."""
    signature, tensors = target.signature, set(target.func.tensor_args)
    parameters = {key: each for key, each in signature.parameters.items() if key not in tensors}
    maker.needed += [str(each) for each in parameters.values()]
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    own = {key: value for key, value in maker.left.items() if takes_any or key in signature.parameters}
    missing = [
        key
        for key, each in parameters.items()
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL) and key not in own
    ]
    sizes: list[str] = []
    if missing and not tensors:
        raise maker.lacks(f"missing a required argument: {', '.join(map(repr, missing))}")
    if tensors:
        if not missing:
            sizes = _sizes(target, own, maker)
        if lacking := [*missing, *(size for size in sizes if size not in maker.left and size not in own)]:
            maker.needed += [size for size in sizes if size not in own]
            raise maker.lacks(f"missing {', '.join(lacking)}")
    taken = own | {size: maker.left[size] for size in sizes if size in maker.left}
    maker.left = {key: value for key, value in maker.left.items() if key not in taken}
    return guarded(lambda: target.get_tir(**taken), maker.path)


def _sizes(target: Any, own: Mapping[str, Any], maker: Maker) -> list[str]:
    """Names of the ``T.const`` sizes, in the order in which TileLang asks for them."""
    make: Callable[..., Any] = target.get_tir

    def tried() -> None:
        try:
            make(**own)
        except ValueError as error:
            if not str(error).startswith(NO_VALUE):
                raise

    guarded(tried, maker.path)
    templates = list(target.func.p1_cache.values())
    matched = templates[-1].matcher if templates else None
    return [str(entry[3]) for entry in (matched or {}).values()]


def is_prim_func(value: Any) -> bool:
    """Whether it is a kernel."""
    from tilelang import tvm

    return isinstance(value, tvm.tirx.PrimFunc)


def is_jit(value: Any) -> bool:
    """Whether it is what ``@tilelang.jit`` made."""
    from tilelang.jit import JITImpl

    return isinstance(value, JITImpl)


def is_autotune(value: Any) -> bool:
    """Whether it is what ``@tilelang.autotune`` made."""
    from tilelang.autotuner.tuner import AutoTuneImpl

    return isinstance(value, AutoTuneImpl)
