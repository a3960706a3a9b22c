"""The pages in a real Chromium: no console error, no accessibility violation, light and dark, live, by keyboard.

Screenshots are kept under ``$WARPWRIGHT_TEST_SCREENSHOTS`` when it is set. Without a Chromium the tests are skipped, and say so:
Debian's ``chromium`` (which ``.ci/run`` installs) or Playwright's own will do.
"""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.dashboard.conftest import PAGES, Shown, accessible, keep
from warpwright.service.testing import new_ir

pytestmark = pytest.mark.timeout(240)


def paths(shown: Shown) -> dict[str, str]:
    return {path.strip("/") or "overview": path for path in PAGES} | {
        "job": f"/jobs/{shown.measured}",
        "lossy": f"/jobs/{shown.lossy}",
        "drawn": f"/jobs/{shown.drawn}",
        "impossible": f"/jobs/{shown.impossible}",
        "compared": f"/compare?a={shown.drawn}&b={shown.drawn}",
        "hostile": f"/jobs/{shown.hostile}",
    }


def test_pages_are_clean_and_accessible(shown: Shown, page: Page) -> None:
    for name, path in paths(shown).items():
        page.goto(shown.service.url + path)
        if name in ("drawn", "compared"):
            expect(page.locator(".timeline-area[data-ready]").first).to_be_visible(timeout=20_000)
        page.wait_for_timeout(300)
        accessible(page, name)
        scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
        keep(page, f"{name}-{scheme}")


def test_the_overview_is_live(shown: Shown, page: Page) -> None:
    page.goto(shown.service.url + "/")
    name = "live " + new_ir()[-30:-20].strip('"{} :,')
    answer = shown.service.client.post("/v1/jobs", json={"ir": new_ir(schedules=1), "profile": "h200", "name": name})
    assert answer.status_code == 202
    expect(page.get_by_role("link", name=name).first).to_be_visible(timeout=20_000)


def test_a_job_and_its_row_are_live_until_the_answer_and_can_be_tuned_again(
    shown: Shown, opened: Callable[..., Page]
) -> None:
    page, table = opened(), opened()
    body = {"ir": new_ir(schedules=3, seconds=0.7), "profile": "h200", "name": "runs", "candidates": 3}
    job = shown.service.client.post("/v1/jobs", json=body).json()["id"]
    page.goto(f"{shown.service.url}/jobs/{job}")
    table.goto(f"{shown.service.url}/jobs")
    expect(page.locator("ol.events")).to_contain_text("compile of cand_", timeout=20_000)
    expect(page.locator("dl.facts").first).to_contain_text("by its budget")
    keep(page, "live")
    expect(page.locator("#the-answer")).to_contain_text("over the compiler's best", timeout=60_000)
    expect(page.locator("[data-chart=scatter] svg")).to_be_visible()
    expect(table.locator(f"#state-{job}")).to_have_text("done", timeout=20_000)
    expect(table.locator(f"#best-{job}")).to_have_text("80.00")
    page.get_by_role("button", name="Tune again").click()
    expect(page.locator("h1")).to_contain_text("runs")
    assert not page.url.endswith(job)
    again = shown.service.client.get(f"/v1/jobs/{page.url.rpartition('/')[2]}").json()
    assert (again["budget"]["candidates"], again["name"]) == (3, "runs")
    page.on("dialog", lambda dialog: dialog.accept())
    endless = {**body, "ir": new_ir(schedules=3, seconds=300.0)}
    page.goto(f"{shown.service.url}/jobs/{shown.service.client.post('/v1/jobs', json=endless).json()['id']}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator(".state")).to_contain_text("cancelled", timeout=60_000)


def test_charts_are_drawn_and_the_job_is_reachable_by_keyboard(shown: Shown, page: Page) -> None:
    page.goto(f"{shown.service.url}/jobs/{shown.measured}")
    expect(page.locator("[data-chart=scatter] svg")).to_be_visible(timeout=20_000)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    names = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        names.add(page.evaluate("(document.activeElement.textContent || document.activeElement.name || '').trim()"))
    assert {"Jobs", "Model", "measured µs"} <= names


def test_why_not_answers_in_place(shown: Shown, page: Page) -> None:
    page.goto(f"{shown.service.url}/jobs/{shown.measured}")
    page.get_by_label("Choice", exact=True).fill("pipelines.as_bs.depth=9")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer")).to_contain_text("Impossible", timeout=20_000)


def test_a_phone_scrolls_tables_not_the_page(shown: Shown, opened: Callable[..., Page]) -> None:
    phone = opened(width=390)
    for name, path in paths(shown).items():
        phone.goto(shown.service.url + path)
        phone.wait_for_timeout(200)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 391, path
        keep(phone, f"{name}-phone")
