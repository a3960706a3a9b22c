"""Gives values to what a kernel leaves open until its launch: symbolic sizes of its tensors and scalar parameters.

Imports TileLang: runs in a child on the user's side only. Names are those of the kernel (``T.dynamic("m")``); a name that
differs only in upper and lower case counts, too, because the Python variable is usually called ``M``.
"""

from collections.abc import Mapping
from typing import Any

from warpwright.errors import KernelFileError

__all__ = ["bound", "has_open"]

FLOATING = ("float", "bfloat")


def bound(function: Any, values: Mapping[str, Any], name: str, place: str) -> Any:
    """The ``PrimFunc`` with these values in place of its symbolic sizes and scalar parameters.

    Args:
        function: The kernel.
        values: Values by name.
        name: How the file calls what made the kernel, with its parameters, for messages.
        place: The file.

    Raises:
        KernelFileError: ``kernel-file-needs-arguments`` for a name that the kernel does not have, ``kernel-file-bad-size`` for
            a value that it cannot have.
    """
    from tilelang import tvm

    tirx = tvm.tirx
    there = tuple(dict.fromkeys(str(var.name) for var in _open(function)))
    chosen = {_meant(key, there, name, place): value for key, value in values.items()}
    known = {var: _constant(var, chosen[str(var.name)], place) for var in _open(function) if str(var.name) in chosen}
    analyzer = tvm.arith.Analyzer()

    def fixed(expression: Any) -> Any:
        return analyzer.simplify(tirx.stmt_functor.substitute(expression, known))

    given = {parameter: known[parameter] for parameter in function.params if parameter in known}
    for parameter, buffer in function.buffer_map.items():
        if any(var in known for var in _variables(buffer)):
            given[parameter] = tirx.decl_buffer(
                [fixed(size) for size in buffer.shape],
                buffer.dtype,
                buffer.name,
                data=buffer.data,
                strides=[fixed(stride) for stride in buffer.strides],
                elem_offset=fixed(buffer.elem_offset),
                scope=buffer.scope(),
                data_alignment=buffer.data_alignment,
                offset_factor=buffer.offset_factor,
            )
    return function.specialize(given) if given else function


def has_open(function: Any, key: str) -> bool:
    """Whether the kernel leaves a size or a scalar parameter of this name open; upper and lower case count as one."""
    return any(str(var.name).lower() == key.lower() for var in _open(function))


def _open(function: Any) -> list[Any]:
    found: list[Any] = []
    for parameter in function.params:
        if parameter in function.buffer_map:
            found += _variables(function.buffer_map[parameter])
        else:
            found.append(parameter)
    return found


def _variables(buffer: Any) -> list[Any]:
    """The variables in a buffer's shape, strides and offset."""
    from tilelang import tvm

    tirx = tvm.tirx
    found: list[Any] = []
    for expression in (*buffer.shape, *buffer.strides, buffer.elem_offset):
        tirx.stmt_functor.post_order_visit(
            expression, lambda node: found.append(node) if isinstance(node, tirx.Var) else None
        )
    return found


def _meant(key: str, there: tuple[str, ...], name: str, place: str) -> str:
    """The name in the kernel that a setting means."""
    alike = [key] if key in there else [other for other in there if other.lower() == key.lower()]
    if len(alike) == 1:
        return alike[0]
    message = f"{name} has no parameter {key!r}, and its kernel no size of that name that is open until the launch"
    listed = f" (it has {', '.join(there)})" if there else ""
    raise KernelFileError(
        f"{message}{listed}; give values with --set NAME=VALUE", code="kernel-file-needs-arguments", place=place
    )


def _constant(var: Any, value: Any, place: str) -> Any:
    from tilelang import tvm

    dtype = str(var.dtype)
    if isinstance(value, bool) == (dtype == "bool") and isinstance(value, int) and not dtype.startswith(FLOATING):
        return tvm.tirx.IntImm(dtype, int(value))
    if dtype.startswith(FLOATING) and isinstance(value, int | float) and not isinstance(value, bool):
        return tvm.tirx.FloatImm(dtype, float(value))
    message = f"{var.name} has the type {dtype}; it cannot be {value!r}"
    raise KernelFileError(message, code="kernel-file-bad-size", place=place)
