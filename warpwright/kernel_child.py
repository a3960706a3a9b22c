"""Runs a user's kernel file and saves the IR of every variant. Imports TileLang: runs in a child on the user's side only.

Expected errors of the file come back as :class:`KernelFileError` with the user's own traceback only.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from warpwright.errors import KernelFileError
from warpwright.kernel_module import guarded, user_files, user_module
from warpwright.kernel_sizes import bound

__all__ = ["read"]

FACTORY = "kernel"
FAMILY = "VARIANTS"
SIZES = "CHECK_SIZES"


def read(payload: dict[str, Any]) -> dict[str, Any]:
    """``{"path", "function", "set"}`` to ``{"name", "variants": [{"params", "ir", "sizes"}], "files"}``; the first
    variant is the default.

    Raises:
        KernelFileError: codes ``kernel-file-missing``, ``-raised``, ``-no-kernel``, ``-several-kernels``,
            ``-needs-arguments``, ``-not-a-kernel``.
    """
    path = Path(payload["path"])
    with user_module(path) as module:
        family = _family(module, path, payload.get("function"), dict(payload.get("set") or {}))
        return {**family, "files": user_files(path)}


def _family(module: Mapping[str, Any], path: Path, function: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    name, target = _choose(module, path, function)
    speaks_for_it = name == FACTORY or function is None
    families, sizes = (module.get(key) if speaks_for_it else None for key in (FAMILY, SIZES))

    def made(params: Mapping[str, Any]) -> str:
        return _ir(_make(target, params, path, name), path, name)

    variants: list[dict[str, Any]] = [
        {
            "params": params,
            "ir": made(params),
            "sizes": [{"name": words, "ir": made(other)} for words, other in _sizes(sizes, params, path)],
        }
        for params in _parameters(target, families, given, path)
    ]
    return {"name": _kernel_name(variants[0]["ir"], name), "variants": variants}


def _choose(module: Mapping[str, Any], path: Path, function: str | None) -> tuple[str, Any]:
    """The object that makes the kernel: the named one, the factory of the kernel family, or the only kernel of the file."""
    if function is not None:
        return function, _named(module, function, path)
    if FACTORY in module and (FAMILY in module or not _is_prim_func(module[FACTORY])):
        return FACTORY, module[FACTORY]
    found = _kernels(module)
    if len(found) == 1:
        return next(iter(found.items()))
    if not found:
        raise KernelFileError(
            f"{path.name} defines no kernel: no @T.prim_func or @tilelang.jit at its top level, and no function "
            f"{FACTORY}(...) that returns one; name one with --function",
            code="kernel-file-no-kernel",
            place=str(path),
        )
    raise KernelFileError(
        f"{path.name} defines {len(found)} kernels ({_listed(found)}); choose one with --function",
        code="kernel-file-several-kernels",
        place=str(path),
    )


def _named(module: Mapping[str, Any], function: str, path: Path) -> Any:
    """The object with this name: ``make``, or ``Layer.make`` for a method of a class."""
    first, *rest = function.split(".")
    found: Any = module.get(first)
    for part in rest:
        found = getattr(found, part, None)
    if found is None:
        there = _listed(_kernels(module) or _functions(module))
        raise KernelFileError(
            f"{path.name} has no {function!r}; it has {there}", code="kernel-file-no-kernel", place=str(path)
        )
    return found


def _functions(module: Mapping[str, Any]) -> list[str]:
    """Functions and classes that the file itself defines: one of them may be the intended factory."""
    own = module.get("__name__")
    return [name for name, value in module.items() if callable(value) and getattr(value, "__module__", None) == own]


def _kernels(module: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in module.items()
        if not name.startswith("_") and (_is_prim_func(value) or _is_jit(value) or _is_autotune(value))
    }


def _parameters(target: Any, families: Any, given: Mapping[str, Any], path: Path) -> list[dict[str, Any]]:
    """The parameter sets of the kernel family, each overridden by the user's ``--set``, without duplicates."""
    if families is None and _is_autotune(target):
        families = target.configs() if callable(target.configs) else target.configs
    if families is None:  # @warpwright.tuned
        families = getattr(target, "variants", None) or None
    if families is None:
        return [dict(given)]
    merged: list[dict[str, Any]] = []
    for entry in _listing(FAMILY, families, path):
        params = {**entry, **given}
        if params not in merged:
            merged.append(params)
    if not merged:
        raise KernelFileError(f"{FAMILY} is empty", code="kernel-file-bad-family", place=str(path))
    return merged


def _sizes(sizes: Any, params: Mapping[str, Any], path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The other sizes of a variant: the values of ``CHECK_SIZES`` in place of its own; its own size is left out."""
    found = _listing(SIZES, sizes if sizes is not None else [], path)
    named = [(" ".join(f"{key}={value}" for key, value in entry.items()), {**params, **entry}) for entry in found]
    return [(words, other) for words, other in named if other != params]


def _listing(name: str, value: Any, path: Path) -> list[Mapping[str, Any]]:
    if not isinstance(value, Iterable) or not all(isinstance(entry, Mapping) for entry in value):
        raise KernelFileError(f"{name} must be a list of dictionaries", code="kernel-file-bad-family", place=str(path))
    return list(value)


def _make(target: Any, params: Mapping[str, Any], path: Path, name: str) -> Any:
    """The PrimFunc that the target gives for these parameters; those that it does not take are sizes of its kernel."""
    if _is_prim_func(target):
        return bound(target, params, name, str(path)) if params else target
    if _is_autotune(target):
        target = target.jit_impl
    if not callable(target):
        raise KernelFileError(f"{name} is not a kernel", code="kernel-file-not-a-kernel", place=str(path))
    signature = target.signature if _is_jit(target) else inspect.signature(target)
    accepts_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    own = {key: value for key, value in params.items() if accepts_any or key in signature.parameters}
    sizes = {key: value for key, value in params.items() if key not in own}
    needed = ", ".join(str(parameter) for parameter in signature.parameters.values())
    _check_arguments(signature, own, path, f"{name}({needed})")
    make: Callable[..., Any] = target.get_tir if _is_jit(target) else target
    made = guarded(lambda: make(**own), path)
    made = guarded(made.get_tir, path) if _is_jit(made) else made
    return bound(made, sizes, f"{name}({needed})", str(path)) if sizes and _is_prim_func(made) else made


def _check_arguments(signature: inspect.Signature, params: Mapping[str, Any], path: Path, name: str) -> None:
    try:
        signature.bind(**params)
    except TypeError as error:
        raise KernelFileError(
            f"{name}: {error}; give values with --set NAME=VALUE",
            code="kernel-file-needs-arguments",
            place=str(path),
        ) from None


def _ir(made: Any, path: Path, name: str) -> str:
    from tilelang import tvm

    if not _is_prim_func(made):
        raise KernelFileError(
            f"{name} gave a {type(made).__name__}, not a @T.prim_func", code="kernel-file-not-a-kernel", place=str(path)
        )
    text: str = tvm.ir.save_json(made)
    return text


def _kernel_name(ir: str, fallback: str) -> str:
    """The kernel's symbol, as the IR has it."""
    from tilelang import tvm

    attributes = tvm.ir.load_json(ir).attrs
    symbol = attributes.get("global_symbol") if attributes is not None else None
    return str(symbol) if symbol is not None else fallback


def _is_prim_func(value: Any) -> bool:
    from tilelang import tvm

    return isinstance(value, tvm.tirx.PrimFunc)


def _is_jit(value: Any) -> bool:
    from tilelang.jit import JITImpl

    return isinstance(value, JITImpl)


def _is_autotune(value: Any) -> bool:
    from tilelang.autotuner.tuner import AutoTuneImpl

    return isinstance(value, AutoTuneImpl)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "no kernels"
