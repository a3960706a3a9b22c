"""Request bodies, read before the framework sees them: strict JSON, every refusal a problem document with its place.

Python's parser takes NaN, Infinity, lone surrogates and NUL characters, none of which a database or another JSON parser
would take back; and deep nesting ends in a RecursionError. All of them are refused here, once, for all endpoints.
"""

import json
from typing import Any

from warpwright.service.errors import BadRequest

__all__ = ["is_storable", "parse_json"]

MAX_DEPTH = 200


def parse_json(body: bytes) -> Any:
    """JSON as the standard has it.

    Raises:
        BadRequest: ``body-not-json`` for syntax, encoding, NaN and infinities; ``body-too-deep``; ``body-text-invalid`` for
            NUL characters and lone surrogates.
    """
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise BadRequest("the body is nested too deep", code="body-too-deep", place="/") from None
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}", code="body-not-json", place="/") from error
    if b"\\u" in body or b"\\U" in body:
        _check_text(value, "", 0)
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def is_storable(text: str) -> bool:
    """Whether a database takes this text: no NUL characters, no lone surrogates."""
    return not any(letter == "\x00" or "\ud800" <= letter <= "\udfff" for letter in text)


def _check_text(value: Any, place: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadRequest("the body is nested too deep", code="body-too-deep", place=place[:200])
    if isinstance(value, str):
        if not is_storable(value):
            raise BadRequest("text holds a NUL or a lone surrogate", code="body-text-invalid", place=place[:200] or "/")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check_text(item, f"{place}/{number}", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, place, depth + 1)
            _check_text(item, f"{place}/{key.encode('utf-8', 'replace').decode()}", depth + 1)
