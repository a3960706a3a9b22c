"""TOML and JSON documents to :class:`HardwareProfile`, and the digest that identifies the numbers.

A TOML profile has the keys ``schema``, ``name``, ``title``, ``family``, ``arch`` and one leaf per number::

    [shared]
    per_block = { value = 232448, unit = "bytes", origin = "vendor", source = "CUTLASS arch.h", conditions = "opt-in" }

Nothing is filled in and nothing is ignored: a leaf without unit, origin or source is refused, and so is an unknown key.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

from warpwright.solver.domain import documents
from warpwright.solver.domain.errors import ProfileError
from warpwright.solver.domain.identity import digest_text
from warpwright.solver.domain.kernel import TargetFamily
from warpwright.solver.domain.profile import HardwareProfile, Origin, Quantity
from warpwright.solver.profiles.rules import check_numbers
from warpwright.solver.profiles.schema import entries

__all__ = [
    "SCHEMA",
    "builtin_profile",
    "builtin_profiles",
    "check_profile",
    "load_profile",
    "numbers_digest",
    "parse_profile",
    "profile_from_json",
    "profile_to_json",
]

SCHEMA = "warpwright.hardware-profile-toml/1"
MAX_DOCUMENT_BYTES = 1 << 20
UNKNOWN = "unknown"

_HEADER = ("schema", "name", "title", "family", "arch")
_LEAF = ("value", "unit", "origin", "source", "conditions")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_ARCH = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}")
_DATA = resources.files("warpwright.solver.profiles").joinpath("data")


@cache
def builtin_profiles() -> tuple[str, ...]:
    """Names of the devices that come with the package, in alphabetical order: one for each document in ``data/``."""
    names = (entry.name for entry in _DATA.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def builtin_profile(name: str) -> HardwareProfile:
    """A built-in device by name; never opens any other file, so a server may pass a client's text.

    Raises:
        ProfileError: ``profile-unknown-name``.
    """
    if name not in builtin_profiles():
        message = f"there is no built-in profile {name!r}; choose one of {', '.join(builtin_profiles())}"
        raise ProfileError(message, code="profile-unknown-name", place="/profile")
    return parse_profile(_DATA.joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def load_profile(name_or_path: str) -> HardwareProfile:
    """A built-in device by name, or the user's own ``.toml`` or ``.json`` file. For the user's side only.

    Raises:
        ProfileError: ``profile-unknown-name``, ``profile-unreadable``, or an error of the document itself.
    """
    path = Path(name_or_path)
    if path.suffix not in {".toml", ".json"}:
        return builtin_profile(name_or_path)
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise ProfileError("a profile may have at most 1 MiB", code="profile-too-large", place=name_or_path)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"cannot read: {error}", code="profile-unreadable", place=name_or_path) from error
    return profile_from_json(text) if path.suffix == ".json" else parse_profile(text)


def parse_profile(text: str, *, name: str | None = None) -> HardwareProfile:
    """A profile from TOML text; ``name`` replaces the document's own.

    Raises:
        ProfileError: with a stable code and the path of the number; see :mod:`warpwright.solver.profiles.rules` for the codes of
            the finished document, here ``profile-not-toml``, ``profile-too-large``, ``profile-schema``,
            ``profile-header``, ``profile-unknown-key``, ``profile-bare-number``, ``profile-missing-value``,
            ``profile-missing-unit``, ``profile-missing-origin``, ``profile-missing-source``, ``profile-wrong-origin``,
            ``profile-not-a-number``.
    """
    if len(text) > MAX_DOCUMENT_BYTES:
        raise ProfileError("a profile may have at most 1 MiB", code="profile-too-large", place="/")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise ProfileError(f"not TOML: {error}", code="profile-not-toml", place="/") from error
    header = _header(document, name)
    body = {key: value for key, value in document.items() if key not in _HEADER}
    family = TargetFamily(header["family"])
    tables = _tables(family)
    found = {quantity.path: quantity for quantity in _leaves(body, "", tables)}
    known = [entry.path for entry in entries(family)]
    ordered = [found.pop(path) for path in known if path in found]
    return check_profile(
        HardwareProfile(header["name"], header["title"], family, header["arch"], (*ordered, *found.values()), digest="")
    )


def check_profile(profile: HardwareProfile) -> HardwareProfile:
    """The same profile with all rules checked and its digest set; refuses a digest that does not match the numbers.

    Raises:
        ProfileError: see :func:`parse_profile`; ``profile-digest-mismatch``.
    """
    for key, pattern, value in (("name", _NAME, profile.name), ("arch", _ARCH, profile.arch)):
        if not pattern.fullmatch(value):
            raise ProfileError(f"{key} {value!r} must match {pattern.pattern}", code="profile-header", place=key)
    check_numbers(profile)
    digest = numbers_digest(profile)
    if profile.digest not in ("", digest):
        message = f"the document says digest {profile.digest}, but its numbers have {digest}"
        raise ProfileError(message, code="profile-digest-mismatch", place="digest")
    return replace(profile, digest=digest)


def numbers_digest(profile: HardwareProfile) -> str:
    """SHA-256 over family, architecture and every (path, unit, value) in path order.

    Name, title, sources and conditions are left out: an answer depends only on the numbers, and correcting a citation must
    not make stored results stale.
    """
    numbers = sorted((q.path, q.unit, _canonical(q.value)) for q in profile.quantities)
    content = json.dumps([profile.family.value, profile.arch, numbers], separators=(",", ":"), ensure_ascii=True)
    return digest_text(content)


def profile_to_json(profile: HardwareProfile) -> str:
    """Canonical JSON text of a profile."""
    return documents.dumps(profile)


def profile_from_json(text: str | bytes) -> HardwareProfile:
    """A profile from its JSON text, checked as strictly as TOML.

    Raises:
        DocumentError: not a profile document. ProfileError: its numbers are refused.
    """
    profile: HardwareProfile = documents.loads(HardwareProfile, text)
    return check_profile(profile)


def _canonical(value: float | None) -> str:
    """One form per number: 2 and 2.0 are the same."""
    if value is None:
        return UNKNOWN
    return str(int(value)) if value == int(value) else repr(float(value))


def _header(document: Mapping[str, object], name: str | None) -> dict[str, str]:
    header: dict[str, str] = {}
    for key in _HEADER:
        value = name if key == "name" and name is not None else document.get(key)
        if not isinstance(value, str) or not value:
            raise ProfileError(f"{key!r} must be given as text", code="profile-header", place=key)
        header[key] = value
    if header["schema"] != SCHEMA:
        raise ProfileError(f"expected schema {SCHEMA!r}", code="profile-schema", place="schema")
    if header["family"] not in [family.value for family in TargetFamily]:
        raise ProfileError(f"there is no family {header['family']!r}", code="profile-header", place="family")
    return header


def _tables(family: TargetFamily) -> frozenset[str]:
    """Dotted names of all tables that hold permitted numbers."""
    names: set[str] = set()
    for entry in entries(family):
        parts = entry.path.split(".")
        names.update(".".join(parts[:count]) for count in range(1, len(parts)))
    return frozenset(names)


def _leaves(node: Mapping[str, object], prefix: str, tables: frozenset[str]) -> Iterator[Quantity]:
    for key, value in node.items():
        path = f"{prefix}{key}"
        if path in tables:
            if not isinstance(value, dict):
                raise ProfileError(f"{path!r} is a table of numbers", code="profile-unknown-key", place=path)
            yield from _leaves(value, f"{path}.", tables)
        else:
            yield _leaf(path, value)


def _leaf(path: str, node: object) -> Quantity:
    if not isinstance(node, dict):
        message = f"{path!r} must be a table {{ value, unit, origin, source }}, not a bare value"
        raise ProfileError(message, code="profile-bare-number", place=path)
    _only_known_keys(path, node, _LEAF)
    if "value" not in node:
        raise ProfileError(f"{path!r} has no value", code="profile-missing-value", place=path)
    for key in ("unit", "origin", "source"):
        if not isinstance(node.get(key), str) or not node[key].strip():
            raise ProfileError(f"{path!r} has no {key}", code=f"profile-missing-{key}", place=f"{path}.{key}")
    conditions = node.get("conditions", "")
    if not isinstance(conditions, str):
        raise ProfileError(f"conditions of {path!r} must be text", code="profile-unknown-key", place=path)
    if node["origin"] not in [origin.value for origin in Origin]:
        allowed = ", ".join(origin.value for origin in Origin)
        message = f"origin {node['origin']!r} of {path!r} is not one of {allowed}"
        raise ProfileError(message, code="profile-wrong-origin", place=f"{path}.origin")
    return Quantity(path, _value(path, node["value"]), node["unit"], Origin(node["origin"]), node["source"], conditions)


def _value(path: str, value: object) -> int | float | None:
    if value == UNKNOWN:
        return None
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, int | float):
        raise ProfileError(f'{path!r} must be a number or "unknown"', code="profile-not-a-number", place=path)
    return value


def _only_known_keys(path: str, node: Mapping[str, object], allowed: Sequence[str]) -> None:
    for key in node:
        if key not in allowed:
            message = f"{path!r} has an unknown key {key!r}; allowed are {', '.join(allowed)}"
            raise ProfileError(message, code="profile-unknown-key", place=f"{path}.{key}")
