"""Every file that the product reads at run time is in the wheel: its name fits one of the patterns of pyproject.toml."""

import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("warpwright", "service", "solver", "lowering", "tuning", "migrations")
FOR_READERS = {"README.md"}


def product_files() -> list[Path]:
    """Files of the product's folders as git knows them; as the folders hold them where there is no git (a source archive)."""
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [ROOT / line for line in listed.stdout.splitlines()]
    return [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]


def test_every_data_file_is_packaged() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    patterns = settings["package-data"]["*"]
    data = [
        path for path in product_files() if path.is_file() and path.suffix != ".py" and path.name not in FOR_READERS
    ]
    lost = [str(path.relative_to(ROOT)) for path in data if not any(fnmatch(path.name, each) for each in patterns)]
    assert lost == []
    assert len(data) > 10


@pytest.mark.parametrize("folder", FOLDERS[:5])
def test_every_package_says_that_it_is_typed(folder: str) -> None:
    assert (ROOT / folder / "py.typed").is_file()
