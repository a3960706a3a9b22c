"""What the reader of request bodies takes and refuses, whatever of it the parser below does and whatever we do."""

import json
from typing import Any

import pytest

from warpwright.service.errors import BadRequest
from warpwright.service.strict_json import MAX_DEPTH, parse_json


def refused(body: bytes) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        parse_json(body)
    return caught.value


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, True, None, "é\u2028😀"], "b": {"a": {"a": 1}}},
        10**40,
        'tab \t, quote ", backslash \\',
        [{"a": 1}, {"a": 1}],
        {"": {"": ""}},
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_json_can_say_arrives_as_it_was(value: Any, ascii_only: bool) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_the_deepest_value_is_read_and_the_next_level_is_not(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    parse_json(opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH)
    assert refused(opening * (MAX_DEPTH + 1) + b"1" + closing * (MAX_DEPTH + 1)).code == "body-too-deep"
    assert refused(opening * 100_000 + b"1" + closing * 100_000).code == "body-too-deep"
    assert refused(opening * 100_000).code == "body-too-deep"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_named(number: str) -> None:
    found = refused(f'{{"a": [{number}]}}'.encode())
    assert (found.code, number.lstrip("-") in found.message) == ("body-not-json", True)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_other_encodings_are_told_to_send_plain_utf_8(encoding: str) -> None:
    found = refused('{"ir": "x", "profile": "h200"}'.encode(encoding))
    assert (found.code, "send plain UTF-8" in found.message) == ("body-not-json", True)


@pytest.mark.parametrize(
    "body",
    [
        b'"\xe9"',
        b'"\xed\xa0\x80"',
        b'"\xc0\x80"',
        b'"\xf4\x90\x80\x80"',
        b'"a\nb"',
        b'"\x00"',
        b"[1,]",
        b"{'a': 1}",
        b"01",
        b"1 2",
        b" ",
    ],
    ids=repr,
)
def test_what_is_not_utf_8_or_not_json(body: bytes) -> None:
    assert refused(body).code == "body-not-json"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (rb'"\ud800"', "/"),
        (rb'{"a": ["", "\udfff"]}', "/a/1"),
        (rb'{"a": "\ude00\ud83d"}', "/a"),
        (rb'{"a": "\u0000"}', "/a"),
        (rb'{"\u0000": 1}', "/"),
    ],
)
def test_text_that_no_database_takes_is_refused_with_its_place(body: bytes, place: str) -> None:
    found = refused(body)
    assert (found.code, found.place) == ("body-text-invalid", place)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 1}',
        b'{"b": {"c": [{"a": 1, "d": 2, "a": 3}]}}',
        rb'{"a": 1, "\u0061": 2}',
        b'{"a" :1,"x":"y","a"\n:2}',
    ],
)
def test_a_key_that_stands_twice_in_an_object_is_named(body: bytes) -> None:
    found = refused(body)
    assert (found.code, "'a' twice" in found.message) == ("body-key-twice", True)
