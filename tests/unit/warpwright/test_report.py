"""The report: self-contained, honest about what was not measured, and safe against hostile names."""

import re
from dataclasses import replace

import pytest

from service.drawing import Block, Lane, MemoryMap, Span, memory_svg, timeline_svg
from solver.domain import HardwareProfile
from solver.profiles import load_profile
from warpwright.report.page import gain_over_default, render_page
from warpwright.result import Candidate, Failure, Rejected, Result

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


@pytest.fixture(scope="module")
def profile() -> HardwareProfile:
    return load_profile("h200")


def candidate(kind: str, forecast: float, **more: object) -> Candidate:
    made = Candidate(
        id=f"id-{kind}", kind=kind, outcome="compiled", variant=0, params={"BM": 128}, forecast_ns=forecast
    )
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name, checked by the dataclass


def result(*candidates: Candidate, **more: object) -> Result:
    made = Result(
        kernel="gemm", profile="h200", ending="tuned", best=candidates[0] if candidates else None, candidates=candidates,
        note="compiled, not measured",
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name, checked by the dataclass


def test_the_page_asks_no_other_host(profile: HardwareProfile) -> None:
    page = render_page(result(candidate("scheduled", 90_000.0), candidate("default", 120_000.0)), profile)
    assert re.findall(r"""(?:src|href|action|url)\s*[=(]\s*["']?(?:https?:)?//""", page) == []
    assert "default-src 'none'" in page


def test_an_unmeasured_result_says_so(profile: HardwareProfile) -> None:
    page = render_page(result(candidate("scheduled", 90_000.0), candidate("default", 120_000.0)), profile)
    assert "compiled, not measured" in page
    assert "Forecast, not measured" in page
    assert "1.33 times as fast, forecast" in page


def test_a_measured_gain_is_never_mixed_with_a_forecast() -> None:
    best = candidate("scheduled", 90_000.0, measured_ns=80_000.0)
    assert gain_over_default(result(best, candidate("default", 120_000.0))) == ""
    assert (
        gain_over_default(result(best, candidate("default", 1.0, measured_ns=100_000.0)))
        == "1.25 times as fast, measured"
    )


def test_hostile_names_stay_text(profile: HardwareProfile) -> None:
    bad = candidate(
        "scheduled", 1.0, params={HOSTILE: HOSTILE}, structure={HOSTILE: HOSTILE}, not_honoured=(HOSTILE,),
        failure=Failure(HOSTILE, HOSTILE, HOSTILE), products={"tilelang_source": HOSTILE.encode()},
    )  # fmt: skip
    page = render_page(
        result(bad, kernel=HOSTILE, job=HOSTILE, rejected=(Rejected(0, {HOSTILE: HOSTILE}, ((HOSTILE, HOSTILE, HOSTILE),)),),
               refused_variants={1: Failure(HOSTILE, HOSTILE)}),
        replace(profile, title=HOSTILE),
        lanes=[Lane(HOSTILE, (Span(0, 1000, HOSTILE, HOSTILE, HOSTILE),))],
        facts=[(HOSTILE, HOSTILE)],
        maps=[MemoryMap(HOSTILE, HOSTILE, 100, (Block(HOSTILE, 90, HOSTILE),))],
    )  # fmt: skip
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert page.count("&lt;script&gt;") > 10


def test_overlapping_spans_of_a_lane_share_its_height() -> None:
    drawing = timeline_svg([Lane("tensor core", (Span(0, 100, "a"), Span(50, 150, "b"), Span(100, 200, "c")))])
    tops = re.findall(r'<g class="span other"><title>[^<]*</title><rect x="[^"]*" y="([^"]*)"', drawing)
    assert len(tops) == 3
    assert tops[0] == tops[2] != tops[1]


def test_nothing_to_draw_gives_no_drawing() -> None:
    assert timeline_svg([]) == ""
    assert timeline_svg([Lane("idle", ())]) == ""


def test_a_map_that_does_not_fit_shows_it() -> None:
    full = MemoryMap("Shared memory", "bytes", 100, (Block("a", 80), Block("b", 40)))
    assert full.slack == -20
    assert "120 of 100 bytes" in memory_svg(full)
    assert "free" not in memory_svg(full)
