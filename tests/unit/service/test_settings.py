"""A setting that cannot be meant is refused at the start, by the name of its variable."""

from dataclasses import fields

import pytest

from warpwright.service import settings_reference
from warpwright.service.settings import OTHER_VARIABLES, PREFIX, Settings, SettingsError

NUMBERS = [item.name for item in fields(Settings) if item.type in ("int", "float", int, float)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOOLCHAIN", "gcc"),
        ("TASK_RUNNER", "cron"),
        ("LOG_FORMAT", "xml"),
        ("PORT", "70000"),
        ("PORT", "http"),
        ("DATABASE_URL", "mysql://x"),
        ("DATABASE_URL", "warpwright.db"),
        ("LEASE_SECONDS", "9"),
        ("LEASE_SECONDS", "nan"),
        ("JOB_SLOTS", "1.5"),
        ("SLOW_ARTIFACT_SYNC", "maybe"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment({PREFIX + name: value})
    assert (caught.value.code, caught.value.place) == ("settings-invalid", PREFIX + name)


@pytest.mark.parametrize("name", NUMBERS)
def test_no_number_is_negative_or_endless(name: str) -> None:
    kind = {item.name: item.type for item in fields(Settings)}[name]
    for value in ("-1",) if kind in ("int", int) else ("-1", "inf", "nan"):
        with pytest.raises(SettingsError) as caught:
            Settings.from_environment({PREFIX + name.upper(): value})
        assert caught.value.place == PREFIX + name.upper()


def test_nought_is_taken_where_it_means_something() -> None:
    assert Settings(job_slots=0, build_slots=0, port=0).job_slots == 0
    for name in ("max_body_bytes", "max_attempts", "poll_seconds", "max_streams"):
        with pytest.raises(SettingsError):
            Settings(**{name: 0})  # type: ignore[arg-type]  # names are the test's own


def test_the_databases_are_the_two_that_are_tested() -> None:
    for url in ("sqlite:///x.db", "postgresql://u@h/d", "postgresql+psycopg://u@h/d"):
        assert Settings(database_url=url).url == url


def test_a_variable_that_nobody_reads_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment({"WARPWRIGHT_REQUIRE_TOKEN": "true"})
    assert (caught.value.code, caught.value.place) == ("setting-unknown", "WARPWRIGHT_REQUIRE_TOKEN")
    assert "WARPWRIGHT_REQUIRE_TOKENS" in caught.value.message
    assert Settings.from_environment(dict.fromkeys(OTHER_VARIABLES, "x") | {"WARPWRIGHT_TEST_X": "1"}) == Settings()


def test_the_page_of_the_settings_is_the_one_that_they_give() -> None:
    assert settings_reference.PATH.read_text(encoding="utf-8") == settings_reference.text()
