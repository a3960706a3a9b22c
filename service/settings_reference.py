"""The reference page of the settings: ``python -m warpwright.service.settings_reference`` writes ``docs/settings.md``.

A test fails if the page is out of date, or if a setting has no text.
"""

import ast
import inspect
from dataclasses import MISSING, fields
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

from warpwright.service import settings
from warpwright.service.settings import OTHER_VARIABLES, PREFIX, Settings

__all__ = ["PATH", "main", "text"]

PATH = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD = """# Settings

Generated from `service/settings.py` by `python -m warpwright.service.settings_reference`. Each setting is one environment
variable; its name says its unit. `warpwright serve` has options for the most frequent. A variable that begins with `WARPWRIGHT_`
and is not here ends the start with `setting-unknown`: it is probably misspelt.

| variable | default | meaning |
|---|---|---|
"""
OTHERS = """
## Other variables

| variable | who reads it, and what it is |
|---|---|
"""


def text() -> str:
    """The page as it is committed."""
    told = _texts()
    rows = [
        f"| `{PREFIX}{item.name.upper()}` | {_default(item.default)} | {told[item.name]} |" for item in fields(Settings)
    ]
    others = [f"| `{name}` | {meaning} |" for name, meaning in OTHER_VARIABLES.items()]
    return HEAD + "\n".join(rows) + "\n" + OTHERS + "\n".join(others) + "\n"


def _texts() -> dict[str, str]:
    """The texts below the fields, which Python does not keep."""
    (body,) = (
        node.body
        for node in ast.parse(dedent(inspect.getsource(settings.Settings))).body
        if isinstance(node, ast.ClassDef)
    )
    found = {}
    for field, following in pairwise(body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            found[field.target.id] = " ".join(str(following.value.value).replace("``", "`").split())
    return found


def _default(value: object) -> str:
    if value is MISSING:
        return "`$XDG_DATA_HOME/warpwright`"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1024 and value % 1024 == 0:
        unit = next(
            (name, size) for name, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)) if value % size == 0
        )
        return f"`{value}` ({value // unit[1]} {unit[0]})"
    return f"`{value}`" if value != "" else "empty"


def main() -> None:
    """Write the committed page."""
    PATH.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
