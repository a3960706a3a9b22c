"""Runs a user's kernel file and saves the IR of every variant. Imports TileLang: runs in a child on the user's side only.

Expected errors of the file come back as :class:`KernelFileError` with the user's own traceback only.
"""

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from warpwright.errors import KernelFileError
from warpwright.kernel_making import is_autotune, is_jit, is_prim_func, made
from warpwright.kernel_module import guarded, user_files, user_module

__all__ = ["read", "read_all"]

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
        function, given = payload.get("function"), dict(payload.get("set") or {})
        name, target, part = _choose(module, path, function)
        families = _families(module, path, (name, target), given, speaks_for_it=function is None or name == FACTORY)
        if part not in families and (part or len(families) > 1):
            raise _not_one(path, name, part, list(families))
        return {**(families[part] if part else next(iter(families.values()))), "files": user_files(path)}


def read_all(payload: dict[str, Any]) -> dict[str, Any]:
    """As :func:`read`, every kernel of the file: ``{"kernels": [{"function", "name", "variants"}], "unread", "files"}``.

    ``unread`` are those of several that could not be read, each with its function, code and message.
    """
    path = Path(payload["path"])
    kernels: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    with user_module(path) as module:
        function, given = payload.get("function"), dict(payload.get("set") or {})
        names = [function] if function else [FACTORY] if _has_factory(module) else list(_kernels(module))
        for each in names or [None]:
            name, target, part = _choose(module, path, each)
            try:
                families = _families(
                    module, path, (name, target), given, speaks_for_it=name == FACTORY, shared=len(names) > 1
                )
            except KernelFileError as error:
                if len(names) < 2:
                    raise
                unread.append({"function": name, "code": error.code, "message": error.message})
                continue
            for key, family in families.items():
                if key == part or not part:
                    kernels.append({**family, "function": f"{name}.{key}" if key else name})
        if not kernels:
            first = unread[0] if unread else {"message": "no kernel", "code": "kernel-file-no-kernel"}
            raise KernelFileError(first["message"], code=first["code"], place=str(path))
        return {"kernels": kernels, "unread": unread, "files": user_files(path)}


def _not_one(path: Path, name: str, part: str, there: list[str]) -> KernelFileError:
    listed = ", ".join(f"{name}.{key}" for key in there if key) or f"one, {name}"
    if part:
        message = f"{path.name}: {name} gives no kernel {part!r}; it gives {listed}"
        return KernelFileError(message, code="kernel-file-no-kernel", place=str(path))
    message = f"{path.name}: {name} gives {len(there)} kernels ({listed}); choose one with --function, or tune all with"
    return KernelFileError(
        f"{message} 'warpwright batch {path.name}'", code="kernel-file-several-kernels", place=str(path)
    )


def _families(
    module: Mapping[str, Any],
    path: Path,
    named: tuple[str, Any],
    given: Mapping[str, Any],
    *,
    speaks_for_it: bool,
    shared: bool = False,
) -> dict[str, dict[str, Any]]:
    """The kernel families that one target makes, by the name of the kernel inside it; most make one, which has no name."""
    name, target = named
    variants, sizes = (module.get(key) if speaks_for_it else None for key in (FAMILY, SIZES))

    def saved(params: Mapping[str, Any]) -> dict[str, str]:
        return {key: _ir(function) for key, function in made(target, params, path, name, shared=shared).items()}

    found: dict[str, list[dict[str, Any]]] = {}
    for params in _parameters(target, variants, given, path):
        others = [(words, saved(other)) for words, other in _sizes(sizes, params, path)]
        for key, ir in saved(params).items():
            checked = [{"name": words, "ir": irs[key]} for words, irs in others if key in irs]
            found.setdefault(key, []).append({"params": params, "ir": ir, "sizes": checked})
    return {key: {"name": _kernel_name(each[0]["ir"], name), "variants": each} for key, each in found.items()}


def _choose(module: Mapping[str, Any], path: Path, function: str | None) -> tuple[str, Any, str]:
    """The object that makes the kernel (the named one, the factory of the kernel family, or the only kernel of the file), and
    which of its kernels was named.
    """
    if function is not None:
        return _named(module, function, path)
    if _has_factory(module):
        return FACTORY, module[FACTORY], ""
    found = _kernels(module)
    if len(found) == 1:
        return *next(iter(found.items())), ""
    if not found:
        there = f"; its functions and classes are {_listed(own)}" if (own := _functions(module)) else ""
        raise KernelFileError(
            f"{path.name} defines no kernel: no @T.prim_func or @tilelang.jit at its top level, and no function "
            f"{FACTORY}(...) that returns one; name one with --function{there}; a program that makes its kernels when it runs "
            "cannot be read yet: move what makes them into a function of their sizes",
            code="kernel-file-no-kernel",
            place=str(path),
        )
    raise KernelFileError(
        f"{path.name} defines {len(found)} kernels ({_listed(found)}); choose one with --function, or tune all with "
        f"'warpwright batch {path.name}'",
        code="kernel-file-several-kernels",
        place=str(path),
    )


def _has_factory(module: Mapping[str, Any]) -> bool:
    """Whether the file's ``kernel`` speaks for it: as the factory of a kernel family, or of a kernel."""
    return FACTORY in module and (FAMILY in module or not is_prim_func(module[FACTORY]))


def _named(module: Mapping[str, Any], function: str, path: Path) -> tuple[str, Any, str]:
    """The object with this name: ``make``, ``Layer.make`` for a method of a class or what an object of it holds, and
    ``make.inner`` for one of several kernels that a function gives.
    """
    first, *rest = function.split(".")
    found: Any = module.get(first)
    taken = [first]
    while rest and found is not None and not is_prim_func(found) and not is_jit(found):
        inner = getattr(found, rest[0], None)
        if inspect.isclass(found) and _belongs_to_objects(found, rest[0]):
            inner = _of_object(found, rest[0])
        if inner is None:
            break
        found = inner
        taken.append(rest.pop(0))
    if found is None or (rest and inspect.isclass(found)):
        there = _listed(_kernels(module) or _functions(module))
        raise KernelFileError(
            f"{path.name} has no {function!r}; it has {there}", code="kernel-file-no-kernel", place=str(path)
        )
    return ".".join(taken), found, ".".join(rest)


def _belongs_to_objects(owner: type, attribute: str) -> bool:
    """Whether a class's objects have this, not the class: a plain method, or what their ``__init__`` may set."""
    there = inspect.getattr_static(owner, attribute, None)
    return inspect.isfunction(there) or (there is None and owner.__init__ is not object.__init__)  # type: ignore[misc]


def _of_object(owner: type, attribute: str) -> Any:
    """What an object of the class has under this name, as a function of the values that make the object."""

    def make(*args: Any, **values: Any) -> Any:
        made_one = owner(*args, **values)
        if not hasattr(made_one, attribute):
            message = f"an object of {owner.__name__} has no {attribute!r}"
            raise KernelFileError(message, code="kernel-file-no-kernel", place=owner.__name__)
        return getattr(made_one, attribute)

    make.__signature__ = inspect.signature(owner)  # type: ignore[attr-defined]  # PEP 362: read by inspect
    return make


def _functions(module: Mapping[str, Any]) -> list[str]:
    """Functions and classes that the file itself defines: one of them may be the intended factory."""
    own = module.get("__name__")
    return [name for name, value in module.items() if callable(value) and getattr(value, "__module__", None) == own]


def _kernels(module: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in module.items()
        if not name.startswith("_") and (is_prim_func(value) or is_jit(value) or is_autotune(value))
    }


def _parameters(target: Any, families: Any, given: Mapping[str, Any], path: Path) -> list[dict[str, Any]]:
    """The parameter sets of the kernel family, each overridden by the user's ``--set``, without duplicates."""
    if families is None and is_autotune(target):
        families = _configs(target.configs, given, path) if callable(target.configs) else target.configs
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


def _configs(make: Any, given: Mapping[str, Any], path: Path) -> Any:
    """The configurations of a tuner that computes them from the kernel's own arguments."""
    parameters = inspect.signature(make).parameters.values()
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    own = {key: value for key, value in given.items() if takes_any or any(each.name == key for each in parameters)}
    return guarded(lambda: make(**own), path)


def _sizes(sizes: Any, params: Mapping[str, Any], path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The other sizes of a variant: the values of ``CHECK_SIZES`` in place of its own; its own size is left out."""
    found = _listing(SIZES, sizes if sizes is not None else [], path)
    named = [(" ".join(f"{key}={value}" for key, value in entry.items()), {**params, **entry}) for entry in found]
    return [(words, other) for words, other in named if other != params]


def _listing(name: str, value: Any, path: Path) -> list[Mapping[str, Any]]:
    if not isinstance(value, Iterable) or not all(isinstance(entry, Mapping) for entry in value):
        raise KernelFileError(f"{name} must be a list of dictionaries", code="kernel-file-bad-family", place=str(path))
    return list(value)


def _ir(function: Any) -> str:
    from tilelang import tvm

    text: str = tvm.ir.save_json(function)
    return text


def _kernel_name(ir: str, fallback: str) -> str:
    """The kernel's symbol, as the IR has it."""
    from tilelang import tvm

    attributes = tvm.ir.load_json(ir).attrs
    symbol = attributes.get("global_symbol") if attributes is not None else None
    return str(symbol) if symbol is not None else fallback


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "no kernels"
