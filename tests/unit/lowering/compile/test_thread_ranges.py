"""Which threads reach a request for registers, read from CUDA source as TileLang prints it."""

import pytest

from warpwright.lowering.compile.readback import read_back

BOUNDS = 'extern "C" __global__ void __launch_bounds__(384, 1) k() '


def asked(body: str) -> dict[int, tuple[int, int]]:
    """Threads by the number of registers that they ask for."""
    found = read_back(f"{BOUNDS}{{\n{body}\n}}")
    return {each.registers: (each.threads.first, each.threads.end) for each in found.register_requests}


def request(registers: int) -> str:
    return f"tl::warpgroup_reg_alloc<{registers}>();"


@pytest.mark.parametrize(
    ("condition", "then", "otherwise"),
    [
        ("((int)threadIdx.x) < 128", (0, 128), (128, 384)),
        ("128 <= ((int)threadIdx.x)", (128, 384), (0, 128)),
        ("((int)threadIdx.x) >= 256", (256, 384), (0, 256)),
        ("(128 <= ((int)threadIdx.x)) && (((int)threadIdx.x) < 256)", (128, 256), (0, 384)),
        ("(((int)threadIdx.x) < 128) && (n < 3)", (0, 128), (0, 384)),
        ("tl::tl_shuffle_elect<128>()", (0, 384), (0, 384)),
        ("(((int)threadIdx.x) >> 5) < 4", (0, 384), (0, 384)),
    ],
)
def test_a_range_never_lacks_a_thread(condition: str, then: tuple[int, int], otherwise: tuple[int, int]) -> None:
    body = f"if ({condition}) {{\n  {request(40)}\n}} else {{\n  {request(48)}\n}}\n{request(56)}"
    assert asked(body) == {40: then, 48: otherwise, 56: (0, 384)}


def test_branches_within_branches_and_loops() -> None:
    inner = (
        f"for (int k = 0; k < 4; ++k) {{ if (((int)threadIdx.x) < 288) {{ {request(24)} }} else {{ {request(32)} }} }}"
    )
    body = f"if (((int)threadIdx.x) < 256) {{ {request(240)} }} else {{ {inner} }}"
    assert asked(body) == {240: (0, 256), 24: (256, 288), 32: (288, 384)}


def test_braces_in_text_and_comments_are_none() -> None:
    body = f'if (((int)threadIdx.x) < 128) {{ asm volatile("{{ }} }};"); /* }} */ {request(40)} // }}\n{request(48)} }}'
    assert asked(body) == {40: (0, 128), 48: (0, 128)}


def test_a_warpgroup_holds_its_largest_request_or_what_it_got_at_launch() -> None:
    body = f"if (((int)threadIdx.x) < 160) {{ {request(24)} {request(200)} }}"
    assert read_back(f"{BOUNDS}{{{body}}}").held(384, 168) == (200, 200, 168)
    assert read_back(f"{BOUNDS}{{}}").held(384, 168) == ()
