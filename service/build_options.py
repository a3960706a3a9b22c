"""Build options on the wire: a list of names, checked against the closed list once the device's target family is known."""

from typing import Annotated

from pydantic import Field, StringConstraints

from warpwright.lowering.compile.options import BuildOption

__all__ = ["BuildOptionNames"]

OptionName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=80),
    Field(json_schema_extra={"enum": [option.value for option in BuildOption]}),
]
"""A string, not the enumeration, so that an unknown name gets its own error code instead of the general one."""

BuildOptionNames = Annotated[list[OptionName], Field(max_length=len(BuildOption))]
