"""The loader takes complete documents and refuses each kind of hole with its code and its place."""

import re
from importlib import resources
from pathlib import Path

import pytest

from warpwright.solver.domain import HardwareProfile, ProfileError, TargetFamily, documents
from warpwright.solver.profiles import (
    builtin_profile,
    builtin_profiles,
    entries,
    entry_at,
    load_profile,
    parse_profile,
    profile_from_json,
    profile_to_json,
)
from warpwright.solver.profiles.schema import Need


def text_of(name: str) -> str:
    return resources.files("warpwright.solver.profiles").joinpath("data", f"{name}.toml").read_text(encoding="utf-8")


def changed(name: str, pattern: str, replacement: str) -> str:
    text, count = re.subn(pattern, replacement, text_of(name), count=1, flags=re.MULTILINE)
    assert count == 1, pattern
    return text


@pytest.mark.parametrize("name", builtin_profiles())
def test_every_builtin_device_loads_with_the_numbers_its_family_needs(name: str) -> None:
    profile = builtin_profile(name)
    assert profile.name == name
    for quantity in profile.quantities:
        entry = entry_at(profile.family, quantity.path)
        assert entry is not None
        assert quantity.source
        assert quantity.unit == entry.unit
    for entry in entries(profile.family):
        if entry.need is Need.KNOWN and (not entry.when or profile.flag(entry.when)):
            assert profile.number(entry.path, entry.unit) >= 0


@pytest.mark.parametrize("name", builtin_profiles())
def test_json_round_trip_gives_the_same_profile_and_text(name: str) -> None:
    profile = builtin_profile(name)
    again = profile_from_json(profile_to_json(profile))
    assert again == profile
    assert profile_to_json(again) == profile_to_json(profile)


def test_the_digests_of_all_devices_differ() -> None:
    assert len({builtin_profile(name).digest for name in builtin_profiles()}) == len(builtin_profiles())


def test_a_document_that_is_dropped_into_the_folder_is_a_builtin_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "h200nvl.toml").write_text(text_of("h200").replace('name = "h200"', 'name = "h200nvl"'))
    (tmp_path / "notes.txt").write_text("no profile")
    monkeypatch.setattr("warpwright.solver.profiles.loader._DATA", tmp_path)
    builtin_profiles.cache_clear()
    try:
        assert builtin_profiles() == ("h200nvl",)
        assert builtin_profile("h200nvl").name == "h200nvl"
        with pytest.raises(ProfileError, match="choose one of h200nvl"):
            builtin_profile("h300")
    finally:
        monkeypatch.undo()
        builtin_profiles.cache_clear()
        builtin_profile.cache_clear()
    assert "h200" in builtin_profiles()


PER_BLOCK = r"^per_block = .*$"
GOOD = 'unit = "bytes", origin = "vendor", source = "s"'
REFUSALS = [
    ("per_block = 232448", "profile-bare-number", "shared.per_block"),
    ('per_block = { unit = "bytes", origin = "vendor", source = "s" }', "profile-missing-value", "shared.per_block"),
    ('per_block = { value = 1024, origin = "vendor", source = "s" }', "profile-missing-unit", "shared.per_block.unit"),
    ('per_block = { value = 1024, unit = "bytes", source = "s" }', "profile-missing-origin", "shared.per_block.origin"),
    (
        'per_block = { value = 1024, unit = "bytes", origin = "vendor" }',
        "profile-missing-source",
        "shared.per_block.source",
    ),
    (
        'per_block = { value = 1024, unit = "bytes", origin = "vendor", source = " " }',
        "profile-missing-source",
        "shared.per_block.source",
    ),
    (
        'per_block = { value = 1024, unit = "bytes", origin = "guess", source = "s" }',
        "profile-wrong-origin",
        "shared.per_block.origin",
    ),
    (
        'per_block = { value = 227, unit = "KiB", origin = "vendor", source = "s" }',
        "profile-wrong-unit",
        "shared.per_block",
    ),
    (f"per_block = {{ value = 1024, {GOOD}, note = 1 }}", "profile-unknown-key", "shared.per_block.note"),
    (f"per_block = {{ value = 1024, {GOOD}, conditions = 1 }}", "profile-unknown-key", "shared.per_block"),
    (f'per_block = {{ value = "many", {GOOD} }}', "profile-not-a-number", "shared.per_block"),
    (f"per_block = {{ value = nan, {GOOD} }}", "profile-not-finite", "shared.per_block"),
    (f"per_block = {{ value = inf, {GOOD} }}", "profile-not-finite", "shared.per_block"),
    (f"per_block = {{ value = -1, {GOOD} }}", "profile-negative", "shared.per_block"),
    (f"per_block = {{ value = 0, {GOOD} }}", "profile-zero", "shared.per_block"),
    (f"per_block = {{ value = 1024.5, {GOOD} }}", "profile-not-whole", "shared.per_block"),
    (f"per_block = {{ value = 1e300, {GOOD} }}", "profile-out-of-range", "shared.per_block"),
    (f"per_block = {{ value = 10_000_000_000_000, {GOOD} }}", "profile-out-of-range", "shared.per_block"),
    (f"per_block = {{ value = 1{'0' * 400}, {GOOD} }}", "profile-out-of-range", "shared.per_block"),
    (f'per_block = {{ value = "unknown", {GOOD} }}', "profile-unknown-number", "shared.per_block"),
    (f"per_block = {{ value = 300_000, {GOOD} }}", "profile-inconsistent", "shared.per_block"),
    ("", "profile-missing-number", "shared.per_block"),
    (f"per_blok = {{ value = 1024, {GOOD} }}", "profile-unknown-key", "shared.per_blok"),
    ("per_block = [1, 2]", "profile-bare-number", "shared.per_block"),
]


@pytest.mark.parametrize(("line", "code", "place"), REFUSALS)
def test_a_spoilt_number_is_refused_with_code_and_place(line: str, code: str, place: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(changed("h200", PER_BLOCK, line))
    assert (caught.value.code, caught.value.place) == (code, place)


HEADERS = [
    (r'^schema = ".*"$', 'schema = "something/9"', "profile-schema", "schema"),
    (r'^family = ".*"$', 'family = "tpu"', "profile-header", "family"),
    (r'^name = ".*"$', "", "profile-header", "name"),
    (r'^name = ".*"$', 'name = "../etc/passwd"', "profile-header", "name"),
    (r'^arch = ".*"$', 'arch = "sm_90a; rm"', "profile-header", "arch"),
    (r'^title = ".*"$', "title = 3", "profile-header", "title"),
    (r"^\[shared\]$", "[shared", "profile-not-toml", "/"),
    (r"^\[shared\]$", "[shard]", "profile-unknown-key", "shard.per_sm"),
    (r"^\[sm\]$", "extra = 1\n[sm]", "profile-bare-number", "extra"),
    (r"^\[sm\]$", "shared = 1\n[sm]", "profile-not-toml", "/"),
    (r"^\[block\]$", "[ub]\nbytes = { value = 1, unit = \"bytes\", origin = \"user\", source = \"s\" }\n[block]",
     "profile-unknown-key", "ub.bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "line", "code", "place"), HEADERS)
def test_a_spoilt_document_is_refused_with_code_and_place(pattern: str, line: str, code: str, place: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(changed("h200", pattern, line))
    assert (caught.value.code, caught.value.place) == (code, place)


def test_a_number_that_a_flag_asks_for_may_be_left_out_without_the_flag() -> None:
    without = changed("rtx5090", r"^setmaxnreg = .*$", "")
    with pytest.raises(ProfileError) as caught:
        parse_profile(without)
    assert (caught.value.code, caught.value.place) == ("profile-missing-number", "features.setmaxnreg")
    text = changed("h200", r"^minimum = .*$", "")
    with pytest.raises(ProfileError) as caught:
        parse_profile(text)
    assert caught.value.place == "setmaxnreg.minimum"
    off = text.replace("setmaxnreg = { value = true", "setmaxnreg = { value = false")
    assert not parse_profile(off).flag("features.setmaxnreg")


def test_an_unknown_value_is_kept_as_unknown_and_refused_when_read() -> None:
    profile = builtin_profile("b200")
    assert not profile.has("l2.bytes")
    with pytest.raises(ProfileError) as caught:
        profile.integer("l2.bytes", "bytes")
    assert caught.value.code == "profile-unknown-number"


def test_the_digest_follows_the_numbers_and_nothing_else() -> None:
    base = builtin_profile("h200")
    assert parse_profile(changed("h200", r"value = 232_448", "value = 232_320")).digest != base.digest
    assert parse_profile(changed("h200", r'^arch = ".*"$', 'arch = "sm_90"')).digest != base.digest
    assert parse_profile(changed("h200", r'^title = ".*"$', 'title = "other"')).digest == base.digest
    assert parse_profile(text_of("h200"), name="mine").digest == base.digest
    assert parse_profile(changed("h200", r"value = 132,", "value = 132.0,")).digest == base.digest


def test_a_forged_digest_is_refused() -> None:
    document = documents.dump(builtin_profile("h200"))
    document["quantities"][0]["value"] = 100
    forged = documents.load(HardwareProfile, document)
    with pytest.raises(ProfileError) as caught:
        profile_from_json(documents.dumps(forged))
    assert caught.value.code == "profile-digest-mismatch"


def test_a_json_profile_is_checked_as_strictly_as_toml() -> None:
    document = documents.dump(builtin_profile("h200"))
    document["quantities"].append(dict(document["quantities"][0]))
    with pytest.raises(ProfileError) as caught:
        profile_from_json(documents.dumps(documents.load(HardwareProfile, document)))
    assert caught.value.code == "profile-duplicate-number"


def test_loading_by_name_path_and_neither(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "mine.toml").write_text(text_of("a100").replace('name = "a100"', 'name = "mine"'), encoding="utf-8")
    (folder / "mine.json").write_text(profile_to_json(builtin_profile("a100")), encoding="utf-8")
    assert load_profile(str(folder / "mine.toml")).name == "mine"
    assert load_profile(str(folder / "mine.json")) == load_profile("a100")
    for name, code in (("h300", "profile-unknown-name"), (str(folder / "none.toml"), "profile-unreadable")):
        with pytest.raises(ProfileError) as caught:
            load_profile(name)
        assert caught.value.code == code


def test_a_huge_document_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    text = "#" * (1 << 20) + "#"
    file = tmp_path / "big.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError) as parsed:
        parse_profile(text)
    with pytest.raises(ProfileError) as loaded:
        load_profile(str(file))
    assert parsed.value.code == loaded.value.code == "profile-too-large"


def test_the_documentation_names_every_number_with_its_unit() -> None:
    page = (Path(__file__).parents[4] / "docs" / "profiles.md").read_text(encoding="utf-8")
    for family in TargetFamily:
        for entry in entries(family):
            assert f"| `{entry.path}` | {entry.unit} |" in page
