"""Request bodies, read before the framework sees them: strict JSON, every refusal a problem document with its place.

``pydantic_core.from_json`` enforces most of it: only UTF-8, no NaN and no Infinity, no lone surrogates, at most 200 levels. It
keeps the last of two equal keys and accepts NUL characters, which no database accepts: these two are refused here, once for
all endpoints.
"""

import json
import re
from collections import Counter
from itertools import islice
from typing import Any

from pydantic_core import from_json

from warpwright.service.errors import BadRequest, TooLarge

__all__ = ["is_storable", "parse_json"]

MAX_DEPTH = 200
"""Arrays and objects in which a value may be nested: the limit of ``from_json`` (pydantic_core 2.50.5; a test checks it)."""


_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|([,\[{])', re.DOTALL)
"""A whole string, or in its group a mark that a value follows."""


def parse_json(body: bytes, most: int | None = None) -> Any:
    """JSON by the standard (RFC 8259), in UTF-8 without a byte order mark, and without duplicate keys.

    ``most``: values that the document may have; each takes up to a hundred bytes of memory, however few it has in the body.

    Raises:
        TooLarge: ``body-too-many-values``, before anything is parsed.
        BadRequest: ``body-not-json`` for syntax, encoding, NaN and infinities; ``body-too-deep``; ``body-key-twice``;
            ``body-text-invalid`` for NUL characters and lone surrogates.
    """
    if most is not None and _has_more_values(body, most):
        raise TooLarge(f"the body has more than {most} values", code="body-too-many-values", place="/")
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise _refusal(body, error) from error
    json.loads(body, object_pairs_hook=_each_key_once)
    if b"\\u0000" in body:
        _check_text(value, "", 0)
    return value


def _has_more_values(body: bytes, most: int) -> bool:
    """Whether a document has more values: all but the first follow a comma or an opening bracket, or a colon after one.

    Marks are counted with those in strings first, which is quick; then without them, until there are too many.
    """
    if body.count(b",") + body.count(b"[") + body.count(b"{") < most:
        return False
    marks = (found for found in _TOKEN.finditer(body) if found.lastindex)
    return next(islice(marks, most, None), None) is not None


def _refusal(body: bytes, error: ValueError) -> BadRequest:
    """The error code of a body that is not JSON: Python's own parser accepts more, so its value can show what is wrong."""
    encoding = json.detect_encoding(body)
    if encoding != "utf-8":
        wrong = "begins with a byte order mark" if encoding == "utf-8-sig" else f"is {encoding.upper()}"
        return BadRequest(f"the body {wrong}; send plain UTF-8", code="body-not-json", place="/")
    try:
        # Decoded here: given bytes, Python's parser accepts encoded surrogates.
        _check_text(json.loads(body.decode(), parse_constant=_refuse_constant), "", 0)
    except BadRequest as refusal:
        return refusal
    except RecursionError:
        return BadRequest("the body is nested too deep", code="body-too-deep", place="/")
    except ValueError:
        pass
    return BadRequest(f"the body is not JSON: {error}", code="body-not-json", place="/")


def _refuse_constant(name: str) -> float:
    raise BadRequest(f"the body is not JSON: it has no number {name}", code="body-not-json", place="/")


def _each_key_once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) == len(pairs):
        return
    twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    raise BadRequest(f"an object of the body has the key {twice[:100]!r} twice", code="body-key-twice", place="/")


def is_storable(text: str) -> bool:
    """Whether a database accepts this text: no NUL characters, no lone surrogates."""
    return not any(letter == "\x00" or "\ud800" <= letter <= "\udfff" for letter in text)


def _check_text(value: Any, place: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadRequest("the body is nested too deep", code="body-too-deep", place=place[:200])
    if isinstance(value, str):
        if not is_storable(value):
            raise BadRequest(
                "the text contains a NUL or a lone surrogate", code="body-text-invalid", place=place[:200] or "/"
            )
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check_text(item, f"{place}/{number}", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, place, depth + 1)
            _check_text(item, f"{place}/{key.encode('utf-8', 'replace').decode()}", depth + 1)
