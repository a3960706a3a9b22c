"""The timeline in a real Chromium: wheel, drag, buttons and keys zoom it, and each way tells a bar's cycles."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.acceptance.dashboard.conftest import Shown

pytestmark = pytest.mark.timeout(120)


def view(area: Locator) -> tuple[int, int]:
    return int(area.get_attribute("data-from") or -1), int(area.get_attribute("data-to") or -1)


def timeline(shown: Shown, page: Page) -> Locator:
    page.goto(f"{shown.service.url}/jobs/{shown.drawn}")
    area = page.locator(".timeline-area[data-ready]").first
    expect(area).to_be_visible(timeout=20_000)
    area.scroll_into_view_if_needed()
    svg = page.locator("svg.timeline").first
    steady = int(svg.get_attribute("data-first") or -1), int(svg.get_attribute("data-last") or -1)
    assert view(area) == steady, "it opens on the steady state"
    page.get_by_role("button", name="all", exact=True).first.click()
    assert view(area) != steady
    return area


def test_a_drag_zooms_into_its_range_and_a_double_click_shows_all(shown: Shown, opened: Callable[..., Page]) -> None:
    page = opened()
    area = timeline(shown, page)
    box, whole = area.bounding_box(), view(area)
    assert box is not None
    left, width = box["x"] + 170, box["width"] - 170
    page.mouse.move(left + width / 4, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(left + width / 2, box["y"] + 60, steps=4)
    page.mouse.up()
    begin, end = view(area)
    length = whole[1] - whole[0]
    assert begin == pytest.approx(whole[0] + length / 4, abs=length / 50)
    assert end == pytest.approx(whole[0] + length / 2, abs=length / 50)
    page.mouse.dblclick(left + width / 2, box["y"] + 60)
    assert view(area) == whole


def test_the_wheel_zooms_a_selected_drawing_and_scrolls_the_page_past_another(
    shown: Shown, opened: Callable[..., Page]
) -> None:
    page = opened()
    area = timeline(shown, page)
    box, whole = area.bounding_box(), view(area)
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.wheel(0, -200)
    page.wait_for_timeout(100)
    assert view(area) == whole, "a page that scrolls past does not zoom"
    area.focus()
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(100)
    begin, end = view(area)
    assert whole[0] < begin < end < whole[1]
    bars = page.locator("svg.plot .span:not([style*=none])").count()
    assert 0 < bars < page.locator("svg.plot .span").count()


def test_keys_zoom_move_and_tell_the_cycles(shown: Shown, opened: Callable[..., Page]) -> None:
    page = opened()
    area = timeline(shown, page)
    whole = view(area)
    area.focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    begin, end = view(area)
    assert end - begin == pytest.approx((whole[1] - whole[0]) / 4, abs=2)
    page.keyboard.press("Shift+ArrowRight")
    assert view(area)[0] == pytest.approx(begin + (end - begin) / 4, abs=2)
    page.keyboard.press("0")
    assert view(area) == whole
    readout = page.locator(".readout").first
    page.keyboard.press("ArrowRight")
    first = readout.text_content()
    assert re.search(r"^consumer\.0 .*: cycles \d+ to \d+ \(\d+\)", first or ""), first
    page.keyboard.press("ArrowRight")
    assert readout.text_content() != first
    page.keyboard.press("ArrowDown")
    assert (readout.text_content() or "").startswith("consumer.1 ")
    expect(page.locator("svg.plot .span.active")).to_have_count(1)
    expect(page.locator("dl.slice").first).to_be_empty()
    page.keyboard.press("Enter")
    expect(page.locator("dl.slice").first).to_contain_text("% of the view")
    page.keyboard.press("Escape")
    assert "Point at a bar" in (readout.text_content() or "")


def test_a_bar_is_found_by_name_and_a_range_by_its_address(shown: Shown, opened: Callable[..., Page]) -> None:
    page = opened()
    area = timeline(shown, page)
    area.focus()
    page.keyboard.press("/")
    page.keyboard.type("waits for full")
    readout = page.locator(".readout").first
    expect(readout).to_contain_text("found; Enter goes to the next")
    assert page.locator("svg.plot .span.dim").count() > 5
    page.keyboard.press("Enter")
    expect(readout).to_contain_text("waits for full:as_bs: cycles")
    page.keyboard.press("Escape")
    expect(page.locator("svg.plot .span.dim")).to_have_count(0)
    page.keyboard.press("+")
    begin, end = view(area)
    page.get_by_role("button", name="link to this range").click()
    assert page.url.endswith(f"#cycles={begin}-{end}")
    page.reload()
    expect(area).to_have_attribute("data-from", str(begin), timeout=20_000)
    expect(area).to_have_attribute("data-to", str(end))


def test_hover_and_buttons_do_the_same(shown: Shown, opened: Callable[..., Page]) -> None:
    page = opened("dark")
    area = timeline(shown, page)
    whole = view(area)
    page.locator("svg.plot .span.stall rect").first.hover(force=True)
    assert re.search(r"waits for .*: cycles \d+ to \d+", page.locator(".readout").first.text_content() or "")
    for name in ("zoom in", "zoom in", "later", "zoom out"):
        page.get_by_role("button", name=name).first.click()
    assert view(area) != whole
    page.get_by_role("button", name="all", exact=True).first.click()
    assert view(area) == whole
    assert page.locator("svg.plot .phase").count() == 2, "prologue and steady state"


def test_two_timelines_side_by_side_have_one_scale_and_move_together(shown: Shown, opened: Callable[..., Page]) -> None:
    page = opened()
    rows = shown.service.client.get(f"/v1/jobs/{shown.drawn}/candidates").json()["items"]
    first, second = [row["id"] for row in rows if row["kind"] == "scheduled"][:2]
    page.goto(f"{shown.service.url}/compare?a={shown.drawn}/{first}&b={shown.drawn}/{second}")
    areas = page.locator("[data-linked] .timeline-area[data-ready]")
    expect(areas).to_have_count(2, timeout=20_000)
    one, other = areas.nth(0), areas.nth(1)
    assert view(one) == view(other)
    one.focus()
    page.keyboard.press("+")
    assert view(one) == view(other)
    rects = areas.evaluate_all(
        "each => each.map(area => area.getBoundingClientRect().toJSON())"
    )  # at one moment of a scroll
    left, right = rects
    assert abs(left["y"] - right["y"]) < 60
    assert left["x"] + left["width"] <= right["x"]
