"""Wire forms of stored results."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from warpwright.service.build_options import BuildOptionNames
from warpwright.service.recorded import PinsJson, ProfileJson
from warpwright.service.results.stored_answer import StoredAnswer
from warpwright.service.strict_types import Flag, Whole, exactly_one

__all__ = [
    "COLUMN_NAMES",
    "LookupAnswer",
    "LookupRequest",
    "NearEntry",
    "RefreshAnswer",
    "RefreshRequest",
    "ResultView",
    "StaleName",
]

ColumnName = Literal[
    "ir", "profile", "toolchain", "constraint_set", "protocol", "verification", "pins", "build_options"
]
RelaxableName = Literal["toolchain", "constraint_set", "protocol", "verification", "pins"]
StaleName = Literal["toolchain", "constraint_set", "protocol", "verification"]
"""Columns that change with the service itself; a client's pins are never out of date."""
COLUMN_NAMES: tuple[ColumnName, ...] = (
    "ir",
    "profile",
    "toolchain",
    "constraint_set",
    "protocol",
    "verification",
    "pins",
    "build_options",
)


class LookupRequest(BaseModel):
    """Which result is wanted. Columns that are not given have the service's current values."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=exactly_one("ir", "ir_hash", "variants"))

    ir: str | None = Field(default=None, min_length=1, description="The IR text; or give `ir_hash`.")
    ir_hash: str | None = Field(
        default=None, min_length=1, max_length=100, description="Structural hash, as in answers."
    )
    variants: list[str] | None = Field(
        default=None, min_length=1, max_length=256, description="IR texts of a whole kernel family."
    )
    profile: str | ProfileJson = Field(description="A profile's name or digest, or the JSON document itself.")
    pins: PinsJson | None = Field(default=None, description="A `warpwright.pins/1` document.")
    build_options: BuildOptionNames = Field(
        default_factory=list, description="Options of the builds; other options give another result."
    )
    toolchain: str | None = Field(default=None, max_length=200)
    protocol: str | None = Field(default=None, max_length=100)
    relax: list[RelaxableName] = Field(
        default_factory=list, max_length=5, description="Columns that may differ; kernel and device may not."
    )
    measured_only: Flag = Field(default=False, description="Only accept a measured result.")


class NearEntry(BaseModel):
    """A stored result of the same kernel, and the columns in which it differs: wanted value first."""

    key: str
    job: str
    differs: dict[str, tuple[str, str]]
    measured: bool
    time_ns: float | None
    updated_at: datetime


class LookupAnswer(BaseModel):
    """The stored answer, or why there is none."""

    found: bool
    relaxed: list[str] = Field(
        description="Columns in which the answer differs from the request; only those that the request allows to differ."
    )
    result: StoredAnswer | None = None
    reason: str = ""
    fingerprint: dict[str, str]
    nearest: list[NearEntry] = []


class ResultView(BaseModel):
    """A stored result in a list."""

    key: str
    name: str
    fingerprint: dict[str, str]
    job: str
    candidate: str
    measured: bool
    time_ns: float | None
    created_at: datetime
    updated_at: datetime
    stale: dict[str, tuple[str, str]] = Field(description="Stale columns: stored and current value.")


class RefreshRequest(BaseModel):
    """Which stale results to tune again."""

    model_config = ConfigDict(extra="forbid")

    stale: list[StaleName] = Field(
        default=["toolchain", "constraint_set", "protocol", "verification"],
        min_length=1,
        max_length=4,
        description="A result is selected if any of these columns is stale.",
    )
    profile: str | None = Field(default=None, max_length=100)
    ir_hash: str | None = Field(default=None, max_length=100)
    limit: Whole = Field(default=100, ge=1, le=1000, description="Stored results that one request examines.")
    cursor: str | None = Field(default=None, max_length=400, description="`next` of the previous answer.")


class RefreshAnswer(BaseModel):
    """The jobs that do the work, and what could not be submitted."""

    jobs: list[str]
    created: int
    failed: list[dict[str, str]]
    more: bool = Field(description="There are more stale results than the limit.")
    next: str | None = Field(default=None, description="Send it as `cursor` to continue; null if there are no more.")
