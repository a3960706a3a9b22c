"""Names of resources: made and parsed only here."""

import re
import secrets
import time

from warpwright.service.errors import NotFound

__all__ = ["check_digest", "new_id", "token_id"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def new_id(kind: str) -> str:
    """``job_0198f2c4e1a7_8f3e...``: kind, milliseconds since 1970, 80 random bits. Ids of one kind sort by time."""
    return f"{kind}_{time.time_ns() // 1_000_000:012x}_{secrets.token_hex(10)}"


def token_id() -> str:
    """Id of an access token; not the secret."""
    return "tok_" + secrets.token_hex(6)


def check_digest(digest: str) -> str:
    """The digest if it is one; otherwise NotFound, because nothing can be stored under such a name."""
    if not _DIGEST.fullmatch(digest):
        raise NotFound(
            f"{digest[:80]!r} is not a digest; a digest looks like sha256:<64 hex digits>", code="digest-unknown"
        )
    return digest
