"""Wire forms of profiles."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from warpwright.service.recorded import ProfileJson
from warpwright.service.strict_types import exactly_one

__all__ = ["ProfileSummary", "ProfileUpload", "ProfileView"]


class ProfileSummary(BaseModel):
    """A profile in a list."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    digest: str
    title: str
    family: str
    arch: str
    builtin: bool
    created_at: datetime


class ProfileView(ProfileSummary):
    """A profile with its document: every number with unit, origin and source."""

    document: ProfileJson


class ProfileUpload(BaseModel):
    """The user's own profile, as TOML text or as a JSON document."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=exactly_one("toml", "document"))

    toml: str | None = Field(None, description="The document as TOML text.")
    document: ProfileJson | None = Field(None, description="The document as JSON.")
