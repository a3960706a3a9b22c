"""Forged copies of a certificate: each field in turn, by its type, so that a field that is added later is forged, too."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

__all__ = ["forgeries"]


def forgeries(document: Any) -> Iterator[tuple[str, Any]]:
    """Every field's name with a copy of the dataclass in which only that field has another value."""
    hints = get_type_hints(type(document))
    for field in fields(document):
        for value in _others(hints[field.name], getattr(document, field.name)):
            yield field.name, replace(document, **{field.name: value})


def _others(kind: Any, value: Any) -> Iterator[Any]:
    """Other values of a type; TypeError for a type that nobody has forged yet."""
    if get_origin(kind) in (UnionType, Union):
        options = [each for each in get_args(kind) if each is not NoneType]
        if value is None:
            yield _sample(options[0])
            return
        if NoneType in get_args(kind):
            yield None
        kind = next((each for each in options if isinstance(value, get_origin(each) or each)), options[0])
    if get_origin(kind) is Literal:
        return  # one value alone is possible
    if kind is bool:
        yield not value
    elif kind is int:
        yield from (value + 1, value - 1, value * 2 + 1, 0 if value else -1)
    elif kind is str:
        yield from ("another text", "search:z3 proved anything", "sha256:" + "0" * 64)
    elif kind is float:
        yield from (value + 1.0, -1.0)
    elif get_origin(kind) in (dict, Mapping):
        of_key, of_value = get_args(kind)
        yield {**value, _sample(of_key): _sample(of_value)}
        for key in list(value)[:1]:
            yield {name: part for name, part in value.items() if name != key}
            yield {**value, key: next(_others(of_value, value[key]))}
    elif get_origin(kind) is tuple:
        member = get_args(kind)[0]
        yield (*value, _sample(member))
        if value:
            yield value[1:]
            yield (*value[:-1], next(_others(member, value[-1])))
    elif isinstance(kind, type) and issubclass(kind, Enum):
        yield from (member for member in kind if member is not value)
    elif is_dataclass(kind):
        for _, copy in forgeries(value):
            yield copy
    else:
        raise TypeError(f"cannot forge {kind}")


def _sample(kind: Any) -> Any:
    """Some value of a type."""
    if get_origin(kind) in (UnionType, Union):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if kind in (bool, int):
        return kind(1)
    if kind is str:
        return "something"
    if get_origin(kind) is tuple:
        return (_sample(get_args(kind)[0]),)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        needed = [each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING]
        return kind(**{name: _sample(hints[name]) for name in needed})
    raise TypeError(f"cannot make a {kind}")
