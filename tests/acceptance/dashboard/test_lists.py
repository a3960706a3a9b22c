"""Lists in use: bulk actions with keyboard and mouse, stale results with every reason, downloads, more rows than fit."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.acceptance.dashboard.conftest import Shown, keep
from tests.acceptance.service.jobs_over_http import finished, submit
from warpwright.service.settings import Settings
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import HardwareProfile
from warpwright.tuning.toolchain import Identity

pytestmark = pytest.mark.timeout(120)


class Moving(StandInToolchain):
    """A stand-in whose rules can change, too."""

    rules = "stand-in/1"

    def identity(self, profile: HardwareProfile) -> Identity:
        return Identity(f"stand-in {self.version}", self.rules, "stand-in/1", "stand-in/1")


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningService, Moving]]:
    tools = Moving(device=True)
    settings = Settings(data=tmp_path_factory.mktemp("lists"), slow_artifact_sync=False, poll_seconds=0.1)
    with RunningService(settings, toolchain=tools) as running:
        yield running, tools


def test_chosen_jobs_are_deleted_by_keyboard_after_a_question(
    service: tuple[RunningService, Moving], opened: Callable[..., Page]
) -> None:
    running, _ = service
    ids = [finished(running.client, submit(running.client, new_ir(schedules=1))["id"])["id"] for _ in range(3)]
    page = opened()
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        if len(asked) == 1:
            dialog.dismiss()
        else:
            dialog.accept()

    page.on("dialog", answer)
    page.goto(f"{running.url}/jobs?state=done")
    page.get_by_role("button", name="Delete selected").click()
    expect(page.locator("[data-count]")).to_have_text("select jobs first")
    assert asked == [], "nothing is chosen, so nothing is asked"
    for job in ids[:2]:
        page.get_by_role("checkbox", name=job).focus()
        page.keyboard.press("Space")
    expect(page.locator("[data-count]")).to_have_text("2 selected")
    delete = page.get_by_role("button", name="Delete selected")
    delete.focus()
    page.keyboard.press("Enter")
    assert len(asked) == 1
    assert running.client.get(f"/v1/jobs/{ids[0]}").status_code == 200, "the question was answered with no"
    delete.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("2 jobs deleted.")
    assert "state=done" in page.url, "the filters stay"
    assert [running.client.get(f"/v1/jobs/{job}").status_code for job in ids] == [404, 404, 200]
    page.get_by_role("button", name="Select all shown").click()
    page.get_by_role("button", name="Cancel selected").click()
    expect(page.get_by_role("status")).to_contain_text("1 left unchanged: only jobs that have not ended")


def test_a_stale_result_says_what_changed_and_an_unchanged_one_is_current(
    service: tuple[RunningService, Moving],
) -> None:
    running, tools = service
    assert "No result yet" in running.client.get("/results").text
    finished(running.client, submit(running.client, new_ir(schedules=1))["id"])
    assert "Nothing is stale" in running.client.get("/results?stale=true").text
    assert "current" in running.client.get("/results").text
    tools.rules = "stand-in/2"
    changed = running.client.get("/results?stale=true").text
    assert "constraint set: stand-in/1, now stand-in/2" in changed
    assert "toolchain:" not in changed
    tools.version = "2"
    assert "toolchain: now stand-in 2" in running.client.get("/results?stale=true").text


def test_a_job_with_more_candidates_than_rows_keeps_its_winner_and_counts_all(
    service: tuple[RunningService, Moving], opened: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpwright.service.dashboard.endpoints.SHOWN_CANDIDATES", 4)
    running, _ = service
    job = finished(running.client, submit(running.client, new_ir(schedules=8))["id"])["id"]
    text = running.client.get(f"/jobs/{job}").text
    assert re.search(r"<b>8</b> generated <span[^>]*>\+ 3 of the compiler's own", text), "all are counted"
    assert "The first 4 of 11 in this order" in text
    assert "proof: II" in text, "the winner is not among the rows"
    assert len(running.client.get(f"/jobs/{job}/candidates.csv").text.splitlines()) == 1 + 11
    page = opened()
    page.goto(f"{running.url}/jobs/{job}")
    page.get_by_role("link", name="measured µs").click()
    expect(page.locator("tr.best")).to_have_count(1)
    assert "sort=measured" in page.url, "the server sorts what the page does not hold"


def test_the_empty_dashboard_says_how_to_begin(
    service: tuple[RunningService, Moving], opened: Callable[..., Page]
) -> None:
    running, _ = service
    page = opened(width=390)
    page.goto(running.url + "/")
    expect(page.locator(".answer")).to_contain_text("No job yet. Start one with")
    keep(page, "empty-phone")
    page.goto(running.url + "/jobs?text=nothing")
    expect(page.locator("table")).to_contain_text("No job matches these filters.")


def test_downloads_come_with_their_names(shown: Shown, opened: Callable[..., Page]) -> None:
    page = opened()
    page.goto(f"{shown.service.url}/jobs/{shown.measured}")
    for name, file in (
        ("Report as one file", "report.html"),
        ("tilelang source", "tilelang_source"),
        ("CSV", "candidates.csv"),
    ):
        with page.expect_download() as download:
            page.get_by_role("link", name=name, exact=True).click()
        assert download.value.suggested_filename.startswith(file.partition(".")[0])
