"""Every code that the product gives to a violation is asserted by a test, and every family's rule has its boundary."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.unit.gates.violation_codes import ROOT, Given, asserted_texts, given_codes

PRODUCT = ("solver", "lowering", "tuning", "service")
FAMILIES = ("warp", "ascend", "modulo")


def boundaries(kind: str) -> set[str]:
    """Codes with a situation on both sides, by the tests of these families."""
    folder = {"warp": "tests/unit/solver/families"}.get(kind, f"tests/unit/solver/{kind}/families")
    modules = [import_module(f"{folder.replace('/', '.')}.{path.stem}") for path in (ROOT / folder).glob("test_*.py")]
    return {f"{b.family}/{b.rule}" for module in modules for b in getattr(module, "BOUNDARIES", ())}


def given(*folders: str) -> list[Given]:
    return [code for folder in folders for code in given_codes(ROOT / folder)]


def test_the_source_says_every_code() -> None:
    codes = given(*PRODUCT)
    assert len({(code.family, code.rule) for code in codes}) > 80
    assert [str(code) for code in codes if "?" in (code.family, code.rule)] == []


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_rule_of_a_family_has_a_boundary(kind: str) -> None:
    written = {f"{code.family}/{code.rule}" for code in given(f"solver/{kind}/families")}
    assert written
    assert sorted(written - boundaries(kind) - SHAPES) == []
    assert sorted(boundaries(kind) - written) == [], "a boundary of a rule that no family has"


SHAPES = {"shape/one-start-a-task", "shape/start-not-negative"}
"""What makes an answer no answer at all; no family's rule, so that there is nothing to build."""


def test_every_code_is_asserted_by_a_test() -> None:
    """By its full name: a rule's name alone is in some text of some test by luck."""
    asserted = asserted_texts(ROOT / "tests").union(*(boundaries(kind) for kind in FAMILIES))
    missing = [str(code) for code in given(*PRODUCT) if f"{code.family}/{code.rule}" not in asserted]
    assert missing == []


def test_the_collector_follows_names_and_helpers(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(
        'NAME = "fits"\n'
        "def say(found, rule, message):\n"
        "    found.append(Violation(NAME, rule, message))\n"
        "def deeper(found, rule):\n"
        '    say(found, rule, "x")\n'
        "def check(found, big, unknown):\n"
        '    say(found, "too-big", "y")\n'
        '    say(found, message="z", rule="too-small")\n'
        '    deeper(found, "too-odd")\n'
        '    found.append(Violation(family="other", rule="late" if big else "early", message=""))\n'
        "    found.append(Violation(NAME, str(unknown), message))\n"
    )
    found = {f"{code.family}/{code.rule}" for code in given_codes(tmp_path)}
    assert found == {"fits/too-big", "fits/too-small", "fits/too-odd", "other/late", "other/early", "fits/?"}
