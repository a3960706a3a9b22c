"""The front door is light and says what it means: lazy imports, exit codes, public names."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import warpwright
from warpwright.cli.exit_codes import ExitCode

ROOT = Path(__file__).resolve().parents[3]
OURS = {f"warpwright.{room}" for room in ("solver", "service", "tuning", "lowering")}
HEAVY = {"pydantic", "sqlalchemy", "fastapi", "httpx", "ortools", "z3", "tilelang", "torch", "jinja2", "numpy"}

HELP = """
import sys
from warpwright.cli.main import main
try:
    main(["--help"])
except SystemExit as leave:
    assert leave.code == 0, leave.code
print("IMPORTED", *sys.modules)
"""


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stdout.split("IMPORTED", 1)[1].split()
    loaded = {name.split(".")[0] for name in names} | {".".join(name.split(".")[:2]) for name in names}
    assert loaded & (OURS | HEAVY) == set()
    assert "tune" in done.stdout
    assert "verify" in done.stdout


def test_every_public_name_resolves_and_nothing_else_does() -> None:
    for name in warpwright.__all__:
        assert getattr(warpwright, name) is not None
    assert set(warpwright.__all__) == set(warpwright._HOMES)
    assert not hasattr(warpwright, "no_such_name")


def test_public_names_live_in_modules_that_export_them() -> None:
    for name, home in warpwright._HOMES.items():
        assert name in importlib.import_module(f"warpwright.{home}").__all__


def test_documented_exit_codes_are_the_real_ones() -> None:
    text = (ROOT / "docs" / "cli.md").read_text("utf-8")
    documented = {
        name: int(code) for code, name in re.findall(r"^\| (\d+) \| `([A-Z_]+)` \|", text, flags=re.MULTILINE)
    }
    assert documented == {code.name: code.value for code in ExitCode}
