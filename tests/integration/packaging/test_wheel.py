"""What is installed: one top-level name, which works beside folders of the user's that are called as ours are in a checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("lowering", "migrations", "service", "solver", "tuning")

PROGRAM = """
import solver, service  # the user's own
import warpwright
from pathlib import Path
assert solver.MINE and service.MINE
assert Path(warpwright.__file__).is_relative_to({target!r}), warpwright.__file__
from warpwright.tuning.testing.toolchain import StandInToolchain, stand_in_ir
import warpwright.service.app, warpwright.tuning.supervised_toolchain, warpwright.lowering.compile
from warpwright.service.db.migrate import head_revision
print("revision", head_revision())
from warpwright.tuning.children import Limits, run_task
print(run_task("testing.echo", {{"text": "from a child"}}, Limits(wall_seconds=60.0)))
"""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, built from the checkout without a network."""
    folder = tmp_path_factory.mktemp("dist")
    # From a copy: a build leaves folders beside its sources, and what an earlier one left would go into the wheel.
    checkout = tmp_path_factory.mktemp("checkout") / "warpwright"
    checkout.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, checkout)
    for name in ("warpwright", *ROOMS):
        shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--outdir", str(folder)]
    done = subprocess.run([*command, str(checkout)], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def test_the_wheel_claims_one_top_level_name(archives: Path) -> None:
    [wheel] = archives.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"warpwright"}
    for room in ROOMS:
        assert f"warpwright/{room}/__init__.py" in names
    assert "warpwright/service/openapi.json" in names
    assert "warpwright/solver/profiles/data/h200.toml" in names


def test_the_source_archive_holds_every_room_once(archives: Path) -> None:
    [source] = archives.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        members = archive.getmembers()
    files = [member.name.split("/", 1)[1] for member in members if member.isfile()]
    assert len(files) == len(set(files))
    for room in ROOMS:
        assert f"warpwright/{room}/__init__.py" in files


def test_an_installed_wheel_works_beside_folders_of_the_same_names(archives: Path, tmp_path: Path) -> None:
    [wheel] = archives.glob("*.whl")
    target, home = tmp_path / "site", tmp_path / "repository"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True, timeout=240)
    for name in ("service", "solver"):
        (home / name).mkdir(parents=True)
        (home / name / "__init__.py").write_text("MINE = True\n")
    (home / "build.py").write_text(PROGRAM.format(target=str(target)))
    environment = os.environ | {"PYTHONPATH": str(target), "WARPWRIGHT_DATA": str(tmp_path / "data")}
    command = [sys.executable, "build.py"]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "from a child" in done.stdout
