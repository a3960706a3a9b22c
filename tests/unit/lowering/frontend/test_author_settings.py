"""The author's own build settings: one form, a closed list of what is followed, and names for the rest."""

from typing import Any

import pytest

from warpwright.lowering.frontend.author_settings import AuthorSettings, author_settings


def test_a_schedule_decides_itself_what_some_settings_say() -> None:
    settings = author_settings({"tl.disable_warp_specialized": True, "tl.disable_vectorize_256": True}, None)
    assert settings.ignored(default=True) == ()
    assert settings.ignored(default=False) == ("tl.disable_warp_specialized",)
    assert settings.followed(default=False).for_compiler == {"tl.disable_vectorize_256": True}


@pytest.mark.parametrize(
    ("configs", "flags"),
    [
        ({"tl.enable_fast_math": True}, None),
        ({}, "-O3 --use_fast_math -lineinfo"),
        ({"tl.device_compile_flags": ["-use_fast_math"]}, []),
    ],
)
def test_fast_math_is_its_build_option(configs: dict[str, Any], flags: Any) -> None:
    settings = author_settings(configs, flags)
    assert settings.build_options == ("fast_math",)
    assert settings.compiler_flags == ()
    assert settings.ignored(default=False) == ()


def test_what_says_nothing_is_left_out() -> None:
    silent = {"tl.disable_warp_specialized": False, "tl.enable_dump_ir": True, "tl.dump_ir_path": "/home/somebody"}
    assert author_settings(silent, ["-O3", "-Xptxas", "-v", "-Wno-deprecated-declarations"]) == AuthorSettings()
    assert author_settings({"tl.enable_async_copy": False}, None).configs == {"tl.enable_async_copy": False}


def test_flags_are_followed_by_name_or_named_without_their_value() -> None:
    given = ["-I/home/somebody/include", "-DSECRET=1", "--ptxas-options=-v,--register-usage-level=10", "-fmad=false"]
    settings = author_settings(
        {"tl.unknown": [1], "tl.ptxas_register_usage_level": 11}, [*given, "-Xcompiler", "-fPIC"]
    )
    assert settings.compiler_flags == ("-fmad=false", "--ptxas-options=--register-usage-level=10")
    expected = ("tl.ptxas_register_usage_level", "tl.unknown", "-I", "-D", "-Xcompiler")
    assert settings.ignored(default=True) == expected
    assert "somebody" not in repr(settings)


@pytest.mark.parametrize("level", [11, -1, True, "10"])
def test_a_usage_level_that_the_assembler_does_not_have_is_not_followed(level: Any) -> None:
    settings = author_settings({"tl.ptxas_register_usage_level": level}, None)
    assert settings.followed(default=True).compiler_flags == ()
    assert settings.ignored(default=True) == ("tl.ptxas_register_usage_level",)
