"""A refused kernel keeps TileLang's reason and the place that it names, not the excerpt's last line."""

import pytest

from warpwright.lowering.compile.lowering_error import reason_of

WITH_EXCERPT = """T.wgmma_gemm() requires Hopper WGMMA lowering, but constraints were not satisfied.
  --> /home/someone/kernel.py:7:1
    |
 7 |             As = T.alloc_shared((BM, BK), T.bfloat16)
    |             ^
"""
WITH_STACK = """Traceback (most recent call last):
  File "lower.cc", line 12
Check failed: (ok) is false: ws_schedule: role mma spans 2 warps
"""


def test_the_reason_comes_with_the_line_of_the_kernel() -> None:
    assert reason_of(RuntimeError(WITH_EXCERPT)) == (
        "RuntimeError: T.wgmma_gemm() requires Hopper WGMMA lowering, but constraints were not satisfied. "
        "(at kernel.py:7: As = T.alloc_shared((BM, BK), T.bfloat16))"
    )


def test_a_check_behind_a_stack_is_the_reason() -> None:
    assert reason_of(RuntimeError(WITH_STACK)) == (
        "RuntimeError: Check failed: (ok) is false: ws_schedule: role mma spans 2 warps"
    )


def test_an_error_without_a_place_has_the_line_of_the_package_that_raised_it() -> None:
    code = compile(
        "\n\ndef refuse():\n    raise ValueError('no barrier')\n", "/opt/lib/tilelang/cuda/op/gemm.py", "exec"
    )
    names: dict[str, object] = {}
    exec(code, names)
    refuse = names["refuse"]
    assert callable(refuse)
    with pytest.raises(ValueError, match="no barrier") as raised:
        refuse()
    assert reason_of(raised.value) == "ValueError: no barrier (at tilelang/cuda/op/gemm.py:4)"


def test_an_error_without_words_says_so() -> None:
    assert reason_of(ValueError()) == "ValueError: no message"
