"""The JSON that measuring and building record, as types for the OpenAPI document, derived from the values that they write.

The JSON differs from the values in three ways: a row may be older or newer than a field (nothing is required, more
is allowed), a number that JSON does not have is null (``not_finite`` names it), and some parts are left out or stored elsewhere.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict
from typing_extensions import TypedDict

from warpwright.lowering.compile.result import CompiledKernel
from warpwright.lowering.measure.result import Measured
from warpwright.lowering.measure.statistics import Summary
from warpwright.service.recorded import SERVERS_TYPES
from warpwright.solver.domain import Violation
from warpwright.tuning.roofline import Roofline

__all__ = ["BuildReport", "Measurement"]


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """A candidate's outcome at another size of the kernel, and how often that size's grid fills the device."""

    name: str
    ir: str
    outcome: str
    message: str
    waves: float | None


@dataclass(frozen=True, slots=True)
class BaselineVerdict:
    """The verifier's verdict on the compiler's own choice, as a schedule with this many threads."""

    threads: int
    violations: tuple[Violation, ...]


def _typed_dict(name: str, text: str, fields: Mapping[str, Any]) -> Any:
    made: Any = TypedDict
    found = made(name, dict(fields), total=False)
    found.__doc__ = text
    found.__pydantic_config__ = ConfigDict(extra="allow")
    return found


@cache
def _recorded(kind: type) -> Any:
    """A dataclass as its recorded JSON object."""
    return _typed_dict(kind.__name__, kind.__doc__ or "", _fields(kind))


def _fields(kind: type, without: Collection[str] = ()) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {name: _json(hint) for name, hint in hints.items() if name not in without}


def _json(hint: Any) -> Any:
    if hint is float:
        return float | None
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return _recorded(hint)
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return Union[tuple(_json(member) for member in members)]  # noqa: UP007 - members that are known only at run time
    if origin in (tuple, list, Sequence):
        return list[_json(members[0])]  # type: ignore[misc]  # a type made at run time
    if origin in (dict, Mapping):
        return dict[members[0], _json(members[1])]  # type: ignore[valid-type,misc]  # a type made at run time
    return hint


Measurement: Any = _typed_dict(
    "Measurement",
    "What a measuring session recorded about a candidate; empty before. Times are nanoseconds of one launch.",
    {
        **_fields(Measured, without=("candidate", "outcome", "summary")),
        **_fields(Summary),
        "rounds_ns": list[float],
        "session": str,
        "sizes": list[_recorded(SizeCheck)],  # type: ignore[misc]  # a type made at run time
        "not_finite": list[str],
    },
)
BuildReport: Any = _typed_dict(
    "BuildReport",
    "What was read back from a candidate's build; empty before. The source and the binary are artifacts.",
    {
        "schema": str,
        **_fields(CompiledKernel, without=("source", "binary")),
        "verifier": _recorded(BaselineVerdict),
        "floor_ns": float,
        "roofline": _recorded(Roofline),
        "not_finite": list[str],
    },
)
SERVERS_TYPES |= {"Measurement": Measurement, "BuildReport": BuildReport}
