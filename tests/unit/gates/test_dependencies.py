"""Every package that the product imports is a declared dependency, so that a fresh install has it."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.unit.gates.test_imports import PRODUCT, ROOT, imports, modules
from warpwright.solver.domain.extras import EXTRAS

OPTIONAL_AT_RUN_TIME = {"torch_npu", "cupy", "acl"}
"""Vendor packages that no index has for every machine; modules that use them say so and do without."""
BY_ANOTHER = {"tvm": "tilelang", "tvm_ffi": "apache-tvm-ffi"}
"""Modules that a distribution brings under another name than its metadata says."""


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return {normalised(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0]) for line in lines}


def extras() -> dict[str, set[str]]:
    """Distributions by extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {
        extra: {normalised(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0]) for line in lines}
        for extra, lines in project["optional-dependencies"].items()
    }


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def third_party(path: Path) -> set[str]:
    names = {name.split(".")[0] for name in imports(path)}
    return names - set(sys.stdlib_module_names) - {*PRODUCT, "migrations", "tests", "benchmarks"} - OPTIONAL_AT_RUN_TIME


def test_what_is_imported_is_declared() -> None:
    homes = packages_distributions()
    known = declared()
    lost: dict[str, str] = {}
    for path in modules(*PRODUCT, "migrations"):
        for name in third_party(path):
            distributions = [BY_ANOTHER[name]] if name in BY_ANOTHER else homes.get(name, [name])
            if not known & {normalised(each) for each in distributions}:
                lost[str(path.relative_to(ROOT))] = name
    assert lost == {}


def test_the_table_of_extras_says_what_they_bring() -> None:
    homes = packages_distributions()
    declared_extras = extras()
    for extra, modules_of_it in EXTRAS.items():
        for module in modules_of_it:
            assert {normalised(name) for name in homes[module]} & declared_extras[extra], (extra, module)
    known = {
        normalised(name) for modules_of_it in EXTRAS.values() for module in modules_of_it for name in homes[module]
    }
    brought = {name for extra in EXTRAS for name in declared_extras[extra]}
    assert brought - known == {"apache-tvm-ffi", "nvidia-ml-py"}, "pins and what may be missing beside TileLang"
    assert declared_extras["local"] == {"warpwright"}


def test_the_base_install_holds_nothing_of_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    base = {normalised(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0]) for line in project["dependencies"]}
    assert base & {name for lines in extras().values() for name in lines} == set()
