"""Candidates that are as good as each other: noise and names decide nothing, and the answer lists who ties."""

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.warpwright.conftest import Service
from warpwright.cli.exit_codes import ExitCode
from warpwright.service.testing import new_ir

NAMES = [str(number) for number in range(5)]
EQUAL = {name: {"ns": 80_000, "noise": 0.015} for name in NAMES}


def numbers(answer: dict[str, Any], ids: list[str]) -> set[str]:
    return {c["structure"].get("number", c["kind"]) for c in answer["candidates"] if c["id"] in ids}


def winners(service: Service, folder: Path, jobs: int) -> None:
    for _ in range(jobs):
        code, answer = service.tune(new_ir(schedules=5, on_device=EQUAL), folder, "-n", "5")
        assert code == ExitCode.OK
        assert numbers(answer, [answer["best"]]) == {"0"}, "the best forecast of those that tie"
        assert numbers(answer, answer["tied"]) >= {"0"}
        assert len(answer["tied"]) >= 2
        # Noise may part one of the equals from the rest; the compiler's own choices, which are slower, never tie.
        assert not {"default", "role_based", "unspecialized"} & numbers(answer, answer["tied"])


def test_noise_names_no_winner_among_equals(start: Callable[..., Service], tmp_path: Path) -> None:
    """Twenty noisy jobs of five equal candidates had named all five."""
    winners(start(), tmp_path, 4)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_noisy_jobs_name_one_winner(start: Callable[..., Service], tmp_path: Path) -> None:
    winners(start(), tmp_path, 20)


def test_a_schedule_that_only_ties_does_not_replace_the_compilers_choice(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    service = start()
    script = {"0": {"ns": 99_800}, "default": {"ns": 100_000}}
    _, answer = service.tune(new_ir(schedules=1, on_device=script), tmp_path, "-n", "1")
    assert numbers(answer, [answer["best"]]) == {"default"}
    assert numbers(answer, answer["tied"]) >= {"0", "default"}
    job = service.running.client.get(f"/v1/jobs/{answer['job']}").json()
    assert (job["tied"], job["margin"]) == (answer["tied"], answer["margin"])
    page = service.running.client.get(f"/jobs/{answer['job']}").text
    assert "As good as the winner" in page


def test_people_see_who_ties(start: Callable[..., Service], tmp_path: Path) -> None:
    service = start()
    (tmp_path / "toy.json").write_text(new_ir(schedules=2, on_device={"0": {"ns": 80_000}, "1": {"ns": 80_000}}))
    code, shown = service.run("tune", str(tmp_path / "toy.json"), "-p", "h200", "-n", "2")
    assert code == ExitCode.OK
    words = " ".join(shown.split())
    assert "as good, measured (marked =): scheduled" in words
    agreed = re.findall(r"(\d+) of (\d+) launches agreed", words)
    assert agreed, "each row says it, and the answer"
    assert all(some == every for some, every in agreed)
    assert re.search(
        r"rests on: measured on simulated H200, outputs checked, \d+ of \d+ launches agreed; proof below proof: II ",
        words,
    )
    (job,) = service.running.client.get("/v1/jobs").json()["items"]
    page = service.running.client.get(f"/jobs/{job['id']}").text
    assert "As good as the winner" in page
    assert len(re.findall(r"\d+ of \d+ launches agreed", page)) == 1 + 5, "the answer and each candidate"
    assert "launches agreed" in service.running.client.get(f"/jobs/{job['id']}/candidates/{job['best']}").text
    answer = service.running.client.get(f"/v1/jobs/{job['id']}").json()["answer"]
    assert shown.rstrip().endswith("answer: " + answer["text"]), "the sentence comes last, and is not wrapped"
    report = service.running.client.get(f"/jobs/{job['id']}/report").text
    for text in (page, report):
        written = re.search(r'<p class="answer" id="the-answer">(.*?)</p>', text)
        assert written is not None
        assert html.unescape(re.sub("<[^>]*>", "", written[1])) == answer["text"]
    said = {part["name"]: part for part in answer["parts"]}
    assert re.fullmatch(r"1\.\d{3}× over the compiler's best \(±\d+\.\d %, 15 rounds\)", said["gain"]["text"])
    assert said["ties"]["text"] == "ties with 1"
    missing = {name: part["text"] for name, part in said.items() if not part["known"]}
    assert missing.keys() >= {"library", "sizes"}
    assert missing["sizes"] == "not checked at another size"


def test_an_answer_that_rests_on_a_forecast_says_so_and_whose_proof_there_is(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    """The compiler's own choice wins a tie by forecast; it has no proof, and the schedule that ties has one."""
    (tmp_path / "toy.json").write_text(new_ir(schedules=1, better=1.25))
    code, shown = start().run("tune", str(tmp_path / "toy.json"), "-p", "h200", "-n", "1", "--no-measure")
    assert code == ExitCode.OK
    words = " ".join(shown.split())
    assert "chosen: default" in words
    assert "rests on: a forecast only, nothing was measured; no proof, the compiler chose the schedule itself" in words
    assert "which is as good: proof: II " in words


def test_cycles_decide_where_the_cost_model_has_no_clock(start: Callable[..., Service], tmp_path: Path) -> None:
    """The last proposal needs the fewest cycles; the first, and the default, had been crowned for being first."""
    service = start()
    code, answer = service.tune(new_ir(schedules=3, cost="cycles"), tmp_path, "-n", "3", "--no-measure")
    assert (code, numbers(answer, [answer["best"]])) == (ExitCode.OK, {"2"})
    job = service.running.client.get(f"/v1/jobs/{answer['job']}").json()
    assert (job["winner"]["forecast_cycles"], job["winner"]["measured_ns"], job["tied"]) == (9_800, None, [job["best"]])
    page = service.running.client.get(f"/jobs/{answer['job']}").text
    assert ("forecast cycles" in page, page.count("★")) == (True, 1)
    assert "9,800" in page
    assert "9,800" in service.running.client.get("/jobs").text


def test_without_a_cost_nobody_is_crowned_anywhere(start: Callable[..., Service], tmp_path: Path) -> None:
    service = start()
    text = new_ir(schedules=2, cost="none")
    code, answer = service.tune(text, tmp_path, "-n", "2", "--no-measure", "--out", str(tmp_path / "out"))

    assert (code, answer["best"], answer["tied"]) == (ExitCode.OK, None, [])
    assert answer["note"].startswith("not ranked")
    job = service.running.client.get(f"/v1/jobs/{answer['job']}").json()
    assert (job["best"], job["winner"], job["note"]) == (None, None, answer["note"])
    report = (tmp_path / "out" / "report.html").read_text()
    for page in (report, *(service.running.client.get(path).text for path in (f"/jobs/{answer['job']}", "/jobs"))):
        assert "not ranked" in page
        assert not {"★", "Winner"} & set(page.replace("<", " ").replace(">", " ").split())
    (tmp_path / "toy.json").write_text(text)
    code, shown = service.run("tune", str(tmp_path / "toy.json"), "-p", "h200", "-n", "2", "--no-measure")
    assert (code, "not ranked" in shown, "chosen:" in shown, "*" in shown) == (ExitCode.OK, True, False, False)


def test_where_nothing_is_measured_equal_forecasts_tie(start: Callable[..., Service], tmp_path: Path) -> None:
    code, answer = start().tune(new_ir(schedules=2), tmp_path, "-n", "0", "--no-measure")
    assert (code, answer["note"]) == (ExitCode.OK, "compiled, not measured")
    assert numbers(answer, answer["tied"]) == {"default", "role_based", "unspecialized"}
    assert numbers(answer, [answer["best"]]) == {"default"}
