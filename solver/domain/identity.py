"""Fingerprint: the identity of a result as separate columns, so that a change of one shows which results are stale."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields

__all__ = ["Fingerprint", "digest_bytes", "digest_text"]


def digest_bytes(data: bytes) -> str:
    """``sha256:<hex>`` of the bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_text(text: str) -> str:
    """``sha256:<hex>`` of the UTF-8 text."""
    return digest_bytes(text.encode())


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Every column that must be equal for a stored result to answer a request.

    ``ir`` is renaming-invariant and covers constants, shapes, dtypes and strides; ``profile`` is the profile's digest;
    ``toolchain`` names compiler builds; ``constraint_set`` the families' version; ``protocol`` how it was measured;
    ``verification`` how it was checked; ``pins`` the user's pins; ``build_options`` the options that change how its builds round.
    """

    ir: str
    profile: str
    toolchain: str
    constraint_set: str
    protocol: str
    verification: str
    pins: str
    build_options: str = ""

    def key(self) -> str:
        """One digest over the columns in declaration order; empty columns are left out.

        So adding a column later does not change the keys of results without it.
        """
        return digest_text("\n".join(f"{f.name}={value}" for f in fields(self) if (value := getattr(self, f.name))))

    def differences(self, other: "Fingerprint") -> Mapping[str, tuple[str, str]]:
        """Columns in which two fingerprints differ, each with both values."""
        return {
            f.name: (getattr(self, f.name), getattr(other, f.name))
            for f in fields(self)
            if getattr(self, f.name) != getattr(other, f.name)
        }
