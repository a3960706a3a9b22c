"""Build options on the wire: a list of names. Checked against the closed list where the device's family is known."""

from typing import Annotated

from pydantic import Field, StringConstraints

from warpwright.lowering.compile.options import BuildOption

__all__ = ["BuildOptionNames"]

OptionName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=80),
    Field(json_schema_extra={"enum": [option.value for option in BuildOption]}),
]
"""A string and not the enumeration, so that an unknown name gets its own code and not that of any field that does not fit."""

BuildOptionNames = Annotated[list[OptionName], Field(max_length=len(BuildOption))]
