"""The pages in a real Chromium: no console error, no accessibility violation, light and dark, live, by keyboard.

Screenshots are kept under ``$WARPWRIGHT_SCREENSHOTS`` when it is set. Without a Chromium the tests are skipped, and say so:
Debian's ``chromium`` (which ``.ci/run`` installs) or Playwright's own will do.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from service.testing import new_ir
from tests.acceptance.dashboard.conftest import Shown

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
LOOSE = {"region"}
"""Axe's ``region`` rule counts the skip link as content outside a landmark; best practice, not WCAG."""

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"),
    pytest.mark.timeout(240),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield launched
        launched.close()


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    opened.on("console", note)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


def paths(shown: Shown) -> dict[str, str]:
    return {
        "overview": "/",
        "jobs": "/jobs",
        "job": f"/jobs/{shown.measured}",
        "lossy": f"/jobs/{shown.lossy}",
        "compare": f"/compare?a={shown.measured}&b={shown.lossy}",
        "model": "/model",
        "profiles": "/profiles",
        "hostile": f"/jobs/{shown.hostile}",
    }


def test_pages_are_clean_and_accessible(shown: Shown, page: Page) -> None:
    folder = os.environ.get("WARPWRIGHT_SCREENSHOTS")
    for name, path in paths(shown).items():
        page.goto(shown.service.url + path)
        page.wait_for_timeout(300)
        found = Axe().run(page).response["violations"]
        assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found if v["id"] not in LOOSE] == [], name
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
            page.screenshot(path=str(Path(folder) / f"{name}-{scheme}.png"), full_page=True)


def test_the_overview_is_live(shown: Shown, page: Page) -> None:
    page.goto(shown.service.url + "/")
    name = "live " + new_ir()[-30:-20].strip('"{} :,')
    answer = shown.service.client.post("/v1/jobs", json={"ir": new_ir(schedules=1), "profile": "h200", "name": name})
    assert answer.status_code == 202
    expect(page.get_by_role("link", name=name).first).to_be_visible(timeout=20_000)


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
    page.get_by_label("Choice").fill("pipelines.as_bs.depth=9")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer")).to_contain_text("Impossible", timeout=20_000)


def test_a_phone_scrolls_tables_not_the_page(shown: Shown, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    phone = context.new_page()
    for path in ("/", "/jobs", f"/jobs/{shown.measured}"):
        phone.goto(shown.service.url + path)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 391, path
    context.close()
