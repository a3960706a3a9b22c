"""Which profile a request means, and the upload of new ones. Profiles never change; a changed document has another digest."""

import json
from collections.abc import Mapping
from typing import Any

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.models import Profile
from warpwright.service.errors import InvalidRequest, NotFound
from warpwright.service.profiles import repository
from warpwright.solver.domain import HardwareProfile, load
from warpwright.solver.profiles import builtin_profile, builtin_profiles, parse_profile, profile_from_json

__all__ = ["domain_profile", "find", "parse", "resolve", "seed"]


def seed(session: WriteSession) -> None:
    """Insert the built-in profiles, at the service's start."""
    for name in builtin_profiles():
        repository.remember(session, builtin_profile(name), builtin=True)


def parse(*, toml: str | None = None, document: Mapping[str, Any] | None = None) -> HardwareProfile:
    """A profile from exactly one of the two forms.

    Raises:
        ProfileError, DocumentError: the document is refused. InvalidRequest: none or both were given.
    """
    if (toml is None) == (document is None):
        raise InvalidRequest("give either 'toml' or 'document'", place="/profile")
    if toml is not None:
        return parse_profile(toml)
    return profile_from_json(json.dumps(document))


def find(session: ReadSession, name_or_digest: str) -> Profile:
    """The row of a digest, or the newest of a name; a built-in name always means the built-in document.

    Raises:
        NotFound: ``profile-unknown``.
    """
    row = repository.by_digest(session, name_or_digest)
    if row is None and name_or_digest in builtin_profiles():
        row = repository.by_digest(session, builtin_profile(name_or_digest).digest)
    row = row or repository.newest_named(session, name_or_digest)
    if row is None:
        message = f"there is no profile {name_or_digest[:100]!r}; built in are {', '.join(builtin_profiles())}"
        raise NotFound(message, code="profile-unknown", place="/profile")
    return row


def domain_profile(row: Profile) -> HardwareProfile:
    """The domain's value of a row."""
    profile: HardwareProfile = load(HardwareProfile, row.document)
    return profile


def resolve(session: ReadSession, profile: str | Mapping[str, Any]) -> HardwareProfile:
    """The profile that a request names or carries.

    Raises:
        NotFound: ``profile-unknown``. ProfileError, DocumentError: the inline document is refused.
    """
    if isinstance(profile, str):
        return domain_profile(find(session, profile))
    return parse(document=profile)
