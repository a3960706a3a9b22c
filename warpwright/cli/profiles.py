"""``warpwright profiles``: lists the built-in devices, or every number of one with its unit, origin and source."""

import json
import sys

from rich.table import Table
from rich.text import Text

from warpwright.cli.exit_codes import ExitCode
from warpwright.cli.render import console
from warpwright.solver.domain import HardwareProfile, documents
from warpwright.solver.profiles import builtin_profiles, load_profile

__all__ = ["run_profiles"]


def run_profiles(name: str | None, *, as_json: bool) -> ExitCode:
    """Lists all, or shows one.

    Raises:
        ProfileError: no such profile.
    """
    found = [load_profile(each) for each in ([name] if name else builtin_profiles())]
    if as_json:
        body = documents.dump(found[0]) if name else {"profiles": [_summary(profile) for profile in found]}
        sys.stdout.write(json.dumps(body) + "\n")
    else:
        console().print(_numbers(found[0]) if name else _list(found))
    return ExitCode.OK


def _summary(profile: HardwareProfile) -> dict[str, object]:
    known = sum(quantity.value is not None for quantity in profile.quantities)
    return {
        "name": profile.name,
        "title": profile.title,
        "family": profile.family.value,
        "arch": profile.arch,
        "digest": profile.digest,
        "numbers": len(profile.quantities),
        "unknown": len(profile.quantities) - known,
    }


def _list(profiles: list[HardwareProfile]) -> Table:
    table = Table("name", "device", "family", "arch", "numbers", "unknown", header_style="bold")
    for profile in profiles:
        row = _summary(profile)
        table.add_row(*(Text(str(row[key])) for key in ("name", "title", "family", "arch", "numbers", "unknown")))
    return table


def _numbers(profile: HardwareProfile) -> Table:
    title = f"{profile.title} ({profile.digest})"
    table = Table("number", "value", "unit", "origin", "source", title=title, header_style="bold")
    for quantity in profile.quantities:
        value = "unknown" if quantity.value is None else f"{quantity.value:g}"
        if isinstance(quantity.value, int):
            value = str(quantity.value)
        source = quantity.source + (f" [{quantity.conditions}]" if quantity.conditions else "")
        table.add_row(*map(Text, (quantity.path, value, quantity.unit, quantity.origin.value, source)))
    return table
