"""Why an answer is partial, in words. Plain text, for everybody who shows an answer."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["INTERRUPTED", "UNMEASURED", "words_of"]

UNMEASURED: Mapping[str, str] = MappingProxyType(
    {
        "device-busy": "another session had the device",
        "contended": "another process was using the device",
        "hang": "a launch did not come back",
        "device-lost": "the device failed",
        "budget": "the time was up",
    }
)
"""Why something was to be measured and was not, by the code of its failure; what comes first names the whole answer."""

INTERRUPTED = frozenset({"cancelled", "interrupted"})
"""Reasons of a tuning that somebody stopped."""


def words_of(stopped_by: str) -> str:
    """The reason of a partial answer in words; the code itself where it says enough."""
    return UNMEASURED.get(stopped_by, stopped_by or UNMEASURED["budget"])
