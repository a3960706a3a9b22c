"""A job's page as one file: opened from disk in a real Chromium that may ask nobody for anything."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.acceptance.dashboard.conftest import HOSTILE, DrawingToolchain, Shown, accessible, keep
from warpwright.client import Client
from warpwright.embedded import embedded_client
from warpwright.service.settings import Settings
from warpwright.service.testing import new_ir

pytestmark = pytest.mark.timeout(120)


def report(shown: Shown, job: str) -> str:
    answer = shown.service.client.get(f"/jobs/{job}/report")
    assert answer.status_code == 200, answer.text
    return answer.text


def from_disk(open_page: Callable[..., Page], file: Path, scheme: str = "light", width: int = 1280) -> Page:
    """The file over ``file://``; any other request fails the test."""
    page = open_page(scheme, width, offline=True)
    asked: list[str] = []

    def only_the_file(route: Route) -> None:
        if route.request.url == file.as_uri():
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    page.route("**/*", only_the_file)
    page.goto(file.as_uri())
    page.wait_for_timeout(300)
    assert [url for url in asked if not url.startswith("data:")] == []
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_file_draws_its_charts_and_timeline_and_is_accessible(
    shown: Shown, opened: Callable[..., Page], tmp_path: Path, scheme: str
) -> None:
    file = tmp_path / "report.html"
    file.write_text(report(shown, shown.drawn), "utf-8")
    page = from_disk(opened, file, scheme)
    for chart in ("scatter", "history"):
        assert page.locator(f"[data-chart={chart}] svg path").count() > 3, chart
    area = page.locator(".timeline-area[data-ready]")
    expect(area).to_be_visible()
    area.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout")).to_contain_text("cycles")
    expect(page.locator("div.memory")).to_have_count(2)
    accessible(page, "report")
    keep(page, f"report-{scheme}")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    style = "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
    assert page.evaluate(style) == "#ffffff", "paper is white"
    drawn = page.locator("[data-chart] svg").evaluate_all("each => each.map(svg => svg.getBoundingClientRect().width)")
    assert drawn, "charts are printed, and no wider than a page"
    assert max(drawn) <= 700
    assert page.locator(".key").first.evaluate("key => getComputedStyle(key).printColorAdjust") == "exact"
    keep(page, f"report-{scheme}-printed")


def test_the_file_says_what_the_page_says(shown: Shown) -> None:
    text = report(shown, shown.lossy)
    for words in (
        "From idea to time",
        "over resource: stand-in-over_resource",
        "proof: II 100 cycles",
        "Binding resources",
        "What went wrong",
        "as the recipe demands",
        "consumer registers: asked 240, got 168",
        "TileLang source to paste",
        "# stand-in schedule of 4 warps",
    ):
        assert words in text, words
    impossible = report(shown, shown.impossible)
    assert "Proven: no legal schedule exists here" in impossible
    assert "needs 300000 bytes, 232448 fit" in impossible


def test_the_file_has_no_link_to_a_server_and_runs_no_script_but_ours(shown: Shown) -> None:
    text = report(shown, shown.drawn)
    page = re.sub(r"<script>.*?</script>", "<script></script>", text, flags=re.DOTALL)
    assert set(re.findall(r'(?:href|src|action)="([^"]*)"', page)) <= {"#main", "data:,"} | {
        link for link in re.findall(r'href="([^"]*)"', page) if link.startswith("#")
    }
    assert "hx-" not in page
    assert "<form" not in page
    assert page.count("sha256-") == text.count("<script>") == 3
    assert "script-src &#39;sha256-" in page


def test_hostile_names_stay_text_and_run_nothing(shown: Shown, opened: Callable[..., Page], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    text = report(shown, shown.hostile)
    assert HOSTILE not in text
    file.write_text(text, "utf-8")
    page = from_disk(opened, file)
    assert page.title().startswith("<script>document.title=")
    expect(page.locator("h1")).to_contain_text("<script>")


def test_the_table_is_sorted_without_a_server_and_by_keyboard(
    shown: Shown, opened: Callable[..., Page], tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(report(shown, shown.measured), "utf-8")
    page = from_disk(opened, file)

    def times() -> list[float]:
        cells = page.locator("table[data-sortable] tbody tr td:nth-child(5)").all_text_contents()
        return [float(cell.replace(",", "")) for cell in cells]

    assert times() == sorted(times())
    heading = page.get_by_role("button", name="measured µs")
    heading.focus()
    page.keyboard.press("Enter")
    assert times() == sorted(times(), reverse=True)
    assert page.locator("th[aria-sort=descending]").count() == 1
    page.get_by_role("button", name="no.").click()
    assert page.locator("table[data-sortable] tbody tr td:first-child").first.text_content() == "1"


def test_a_phone_scrolls_tables_not_the_file(shown: Shown, opened: Callable[..., Page], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report(shown, shown.drawn), "utf-8")
    page = from_disk(opened, file, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 391
    keep(page, "report-phone")


def test_an_unknown_job_is_a_problem_document(shown: Shown) -> None:
    answer = shown.service.client.get("/jobs/job_nope/report")
    assert answer.status_code == 404
    assert answer.json()["code"] == "job-unknown"


def test_without_a_server_the_local_database_gives_the_same_file(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", slow_artifact_sync=False)

    def client() -> Client:
        return embedded_client(settings, toolchain=DrawingToolchain(device=True))

    from warpwright.service.jobs.schemas import JobSubmission

    with client() as first:
        job = first.submit(JobSubmission.model_validate({"ir": new_ir("drawn", schedules=2), "profile": "h200"}))
        while first.job(job.id, wait=5.0).state not in ("done", "failed"):
            pass
    with client() as later:
        page = later.report(job.id)
    assert 'class="timeline"' in page
    assert "proof: II" in page
