"""Build options: a closed list by name, what each tells the compilers, and the identity that they give a result."""

import pytest

from warpwright.lowering.compile.options import (
    MEANINGS,
    BuildOption,
    build_options,
    column_of,
    compiler_flags,
    pass_configs,
)
from warpwright.solver.domain import DocumentError, Fingerprint, TargetFamily, digest_text

IDENTITY = {
    "ir": "i", "profile": "p", "toolchain": "t", "constraint_set": "c", "protocol": "m", "verification": "v", "pins": "n",
}  # fmt: skip


def test_names_come_in_a_fixed_order_and_once() -> None:
    found = build_options(["flush_denormals", "fast_math", "flush_denormals"], TargetFamily.CUDA)
    assert found == (BuildOption.FAST_MATH, BuildOption.FLUSH_DENORMALS)
    assert column_of(found) == column_of(["flush_denormals", "fast_math"]) == "fast_math,flush_denormals"
    assert build_options([], TargetFamily.ASCEND) == ()


@pytest.mark.parametrize("name", ["FLUSH_DENORMALS", "-ftz=true", "", "flush_denormals -o /etc/passwd"])
def test_only_names_of_the_list_are_known(name: str) -> None:
    with pytest.raises(DocumentError, match="choose from fast_math, flush_denormals") as refused:
        build_options([name], TargetFamily.CUDA, "/variants")
    assert (refused.value.code, refused.value.place) == ("build-option-unknown", "/variants")


@pytest.mark.parametrize("option", list(BuildOption))
def test_no_compiler_for_npus_has_them(option: BuildOption) -> None:
    with pytest.raises(DocumentError, match=option.value) as refused:
        build_options([option.value], TargetFamily.ASCEND)
    assert refused.value.code == "build-option-unsupported"


def test_what_the_compilers_are_told() -> None:
    assert compiler_flags([BuildOption.FAST_MATH, BuildOption.FLUSH_DENORMALS]) == ("--use_fast_math", "-ftz=true")
    assert pass_configs([BuildOption.FLUSH_DENORMALS]) == {"tl.device_compile_flags": ["-ftz=true"]}
    assert pass_configs([BuildOption.FAST_MATH]) == {"tl.enable_fast_math": True}
    assert pass_configs([]) == {}
    assert set(MEANINGS) == set(BuildOption)


def test_an_option_makes_another_result_and_none_keeps_the_key_of_before_there_were_options() -> None:
    before = digest_text("ir=i\nprofile=p\ntoolchain=t\nconstraint_set=c\nprotocol=m\nverification=v\npins=n")
    plain, flushed = Fingerprint(**IDENTITY), Fingerprint(**IDENTITY, build_options="flush_denormals")
    assert plain.key() == before
    assert flushed.key() != before
    assert plain.differences(flushed) == {"build_options": ("", "flush_denormals")}
