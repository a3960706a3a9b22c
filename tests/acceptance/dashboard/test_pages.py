"""The pages as a browser without scripts gets them."""

import csv
import html
import io
import re

import pytest

from tests.acceptance.dashboard.conftest import HOSTILE, PAGES, Shown
from warpwright.service.settings import Settings
from warpwright.service.testing import StandInToolchain
from warpwright.service.testing.running import RunningService


def test_the_menu_has_pages_only(shown: Shown) -> None:
    menu = re.search(r'<nav aria-label="Main">(.*?)</nav>', shown.service.client.get("/").text, re.DOTALL)
    assert menu is not None
    links = re.findall(r'href="([^"]+)"', menu[1])
    assert len(links) > 5
    assert set(links) <= set(PAGES)


@pytest.mark.parametrize("path", [*PAGES, "/results?stale=true"])
def test_every_page_answers_and_asks_no_other_host(shown: Shown, path: str) -> None:
    answer = shown.service.client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "http://" not in answer.text.replace("http://www.w3.org/", "")
    assert "https://" not in answer.text


def test_the_job_page_shows_the_answer_and_its_proof(shown: Shown) -> None:
    text = shown.service.client.get(f"/jobs/{shown.measured}").text
    assert "Initiation interval" in text
    assert "proof: II 100 cycles, lower bound 100 (resource:tensor_core), proven optimal" in text
    assert "Downloads of the winner" in text
    link = re.search(r'href="(/compare[?][^"]*)"', text)
    assert link is not None
    compared = shown.service.client.get(link[1].replace("&amp;", "&"))
    assert compared.status_code == 200
    assert "default" in compared.text
    assert '"scatter":[{' in text


def test_the_funnel_names_every_loss(shown: Shown) -> None:
    text = shown.service.client.get(f"/jobs/{shown.lossy}").text
    assert "not honoured" in text
    assert "over resource: stand-in-over_resource" in text
    page = shown.service.client.get(f"/jobs/{shown.impossible}").text
    impossible = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert "0 legal + 3 of the compiler's own" in impossible, "what the compiler chose was not proven legal"
    assert re.search(r'class="state done untuned">done: infeasible<', page), "an ending without an answer is not green"
    assert "proven impossible before they became candidates" in impossible
    assert impossible.count("needs 300000 bytes, 232448 fit") == 1, "two variants, one reason"
    assert "variant 0: store no and 1 more" in impossible


def test_a_family_is_one_row_of_the_results_and_every_link_of_it_leads_somewhere(shown: Shown) -> None:
    client = shown.service.client
    text = client.get("/results").text
    assert text.count(">too_large</a>") == 1, "one row for both variants"
    assert "2 variants" not in text, "only one variant has an answer: the compiler's choice for the other was not tried"
    links = set(re.findall(r'href="(/(?:kernels|jobs)/[^"]+)"', text))
    assert any("/kernels/family:" in link for link in links)
    assert {link: client.get(link).status_code for link in links} == dict.fromkeys(links, 200)


def test_a_failed_job_waits_for_no_answer(shown: Shown) -> None:
    page = shown.service.client.get(f"/jobs/{shown.failed}").text
    assert "no answer yet" not in page
    assert "no answer: the solver ended by signal 11" in page
    assert "no answer: the solver ended by signal 11" in shown.service.client.get(f"/v1/jobs/{shown.failed}").text


def test_names_from_clients_are_escaped_everywhere(shown: Shown) -> None:
    client = shown.service.client
    for path in (
        "/",
        "/jobs",
        "/kernels",
        "/model",
        f"/jobs/{shown.hostile}",
        f"/compare?a={shown.hostile}&b={shown.measured}",
    ):
        text = client.get(path).text
        assert HOSTILE not in text
        assert "<script>document.title" not in text


def test_a_table_for_a_spreadsheet(shown: Shown) -> None:
    rows = list(csv.DictReader(io.StringIO(shown.service.client.get("/jobs.csv").text)))
    assert {row["id"] for row in rows} == {
        shown.measured,
        shown.lossy,
        shown.impossible,
        shown.hostile,
        shown.drawn,
        shown.failed,
    }
    candidates = shown.service.client.get(f"/jobs/{shown.measured}/candidates.csv").text
    assert len(candidates.splitlines()) == 1 + 9


def test_filters_and_sorting(shown: Shown) -> None:
    client = shown.service.client
    assert "gemm_bias_relu" in client.get("/jobs?text=gemm").text
    assert "gemm_bias_relu" not in client.get("/jobs?text=attention").text
    assert "gemm_bias_relu" not in client.get("/jobs?state=failed").text
    for wrong in ("state=bogus", "period=bogus"):
        for path in ("/jobs", "/jobs.csv"):
            refused = client.get(f"{path}?{wrong}")
            assert (refused.status_code, "filter-unknown" in refused.text) == (422, True)
            assert "gemm_bias_relu" not in refused.text
    down = client.get(f"/jobs/{shown.measured}?sort=measured&down=true").text
    assert 'aria-sort="descending"' in down


def test_compare_shows_both_and_the_difference_of_their_sources(shown: Shown) -> None:
    text = shown.service.client.get(f"/compare?a={shown.measured}&b={shown.lossy}").text
    words = " ".join(re.sub("<[^>]*>", "", text).split())
    assert (
        "1.000×: the first over the second, measured, of two kernels with different names, in different sessions"
        in words
    )
    assert "tilelang source" in text


def test_ticked_candidates_are_compared(shown: Shown) -> None:
    client = shown.service.client
    offered = re.findall(r'name="c" value="([^"]+)"', client.get(f"/jobs/{shown.measured}").text)
    assert len(offered) == 9
    pair = client.get("/compare", params={"c": offered[3:5]}).text
    assert (f'value="{offered[3]}"' in pair, f'value="{offered[4]}"' in pair) == (True, True)
    assert f'value="{shown.measured}"' in client.get("/compare", params={"c": offered[:1]}).text, "with the winner"
    assert "3 candidates are ticked; two can be compared" in client.get("/compare", params={"c": offered[:3]}).text


def test_why_not_offers_choices_of_this_kernel(shown: Shown) -> None:
    text = shown.service.client.get(f"/jobs/{shown.drawn}").text
    offered = re.findall(r'<option value="([^"]*=[^"]*)">', text)
    assert {"pipelines.as_bs.depth=3", "pipelines.as_bs.depth=1", "store_role=true"} <= set(offered)
    assert "roles.consumer.warpgroups=3" in offered


def test_why_not_answers_with_families_and_numbers(shown: Shown) -> None:
    client = shown.service.client
    answer = client.post(f"/jobs/{shown.measured}/why", data={"why": "pipelines.as_bs.depth=9", "variant": "0"})
    assert "Impossible" in answer.text
    assert "shared_memory" in answer.text
    wrong = client.post(f"/jobs/{shown.measured}/why", data={"why": "nonsense", "variant": "0"})
    assert wrong.status_code == 200
    assert "there is nothing called" in wrong.text


def test_the_model_page_names_the_families_that_the_hardware_contradicted(shown: Shown) -> None:
    text = shown.service.client.get("/model").text
    assert re.search(r"placement</th><td>not honoured.*?<b>1</b>", text), "one schedule was not honoured"
    assert re.search(r"shared memory</th><td>over resource.*?<b>1</b>", text), "one needed more than there is"


def test_the_drawn_busy_time_is_the_printed_utilisation(shown: Shown) -> None:
    """What an engineer sees of the tensor core is what the text says: spans that run on after their work had covered 99.8 %."""
    text = shown.service.client.get(f"/jobs/{shown.drawn}/drawing").text
    printed = re.search(r"Utilisation in the steady state, as drawn</dt><dd>([^<]*)</dd>", text)
    svg = re.search(r'<svg class="timeline"[^>]* data-first="(\d+)" data-last="(\d+)"', text)
    assert printed is not None
    assert svg is not None
    begin, end = int(svg[1]), int(svg[2])
    said = {unit.replace("_", " "): int(share) / 100 for unit, share in re.findall(r"(\w+) (\d+)%", printed[1])}
    assert said["tensor core"] > 0.2
    for unit, share in said.items():
        lane = re.search(f'<g class="row" data-name="{unit}">(.*?)</g></g>', text, re.DOTALL)
        assert lane is not None
        height = float(re.findall(r'<rect class="track"[^>]* height="(\d+)"', lane[1])[0]) - 1
        spans = re.findall(r'data-s="(\d+)" data-e="(\d+)"><title>[^<]*</title><rect [^>]* height="([\d.]+)"', lane[1])
        area = sum(max(0, min(int(e), end) - max(int(s), begin)) * float(tall) / height for s, e, tall in spans)
        assert area / (end - begin) == pytest.approx(share, abs=0.006), unit


def test_the_steps_from_the_bound_to_the_clock_add_up(shown: Shown) -> None:
    text = shown.service.client.get(f"/jobs/{shown.drawn}/drawing").text
    rows = re.findall(
        r'<tr class="(level|loss|gain)"><th scope="row">([^<]*)</th><td class="n">([^<]*)</td><td class="n">([^<]*)</td>',
        text,
    )
    names = [name for _, name, _, _ in rows]
    assert (names[0], names[-1]) == ("proven bound", "measured")
    assert {"forecast", "last wave not full", "outside the loop", "not in the model"} <= set(names)
    assert rows[0][3] == "100", "cycles of one iteration, as the certificate has them"
    level = 0.0
    for kind, name, amount, _ in rows:
        value = float(amount.replace("−", "-").replace(",", ""))
        assert kind != "level" or level in (0.0, pytest.approx(value, abs=0.06 * len(rows))), name
        level = value if kind == "level" else level + value
    assert level == 88.0, "the measured time"


def test_the_share_of_the_peak_is_the_same_in_sentence_roofline_and_table(shown: Shown) -> None:
    text = shown.service.client.get(f"/jobs/{shown.drawn}").text
    said = re.search(r"([\d,]+) TFLOP/s = (\d+) % of the device&#39;s bf16 peak", text)
    assert said is not None
    # 2 x 4096^3 operations in 88 microseconds, faster than the device can be: the stand-in invents its times.
    assert (said[1], said[2]) == ("1,562", "158")
    drawn = re.search(r'<svg class="roofline" role="img" aria-label="Roofline: ([^"]*)"', text)
    assert drawn is not None
    names = [name.rpartition(" ")[0].rpartition(" ")[0] for name in drawn[1].split("; ")]
    assert names == [
        "scheduled 3",
        "compiler&#x27;s unspecialized",
        "compiler&#x27;s default",
        "compiler&#x27;s role based",
    ]
    assert '<td class="n">1,561.8</td><td class="n">157.8 %</td>' in text


def test_every_link_leads_somewhere(shown: Shown) -> None:
    client = shown.service.client
    seen, left, broken = {"/"}, ["/"], {}
    while left:
        path = left.pop()
        answer = client.get(path, headers={"Accept": "text/html"})
        if answer.status_code != 200:
            broken[path] = answer.status_code
        if not answer.headers["content-type"].startswith("text/html") or "/report" in path:
            continue
        for link in map(html.unescape, re.findall(r'(?:href|hx-get)="(/[^"#]*)', answer.text)):
            # One order of a table and one candidate of a kind are enough.
            known = re.sub(r"(cand_|sha256[:%]|sort=)[\w:%]+", r"\1", link)
            if known not in seen:
                seen.add(known)
                left.append(link)
    assert len(seen) > 40
    assert broken == {}


def test_errors_are_pages_with_the_code(shown: Shown) -> None:
    missing = shown.service.client.get("/jobs/nope")
    assert missing.status_code == 404
    assert "job-unknown" in missing.text, "the code that the API uses"
    assert shown.service.client.get("/jobs?before=" + "x" * 300).status_code == 400


def test_an_unknown_address_is_a_page_for_people_and_a_problem_for_programs(shown: Shown) -> None:
    client = shown.service.client
    for path in ("/nowhere", "/static/nothing.js"):
        missing = client.get(path, headers={"Accept": "text/html,*/*"})
        assert (missing.status_code, "there is no page at this address" in missing.text) == (404, True)
        assert "default-src 'none'" in missing.headers["content-security-policy"]
        assert client.get(path).json()["code"] == "not-found"
    assert client.get("/v1/nowhere", headers={"Accept": "text/html"}).json()["code"] == "not-found"


def test_jobs_are_deleted_from_the_list_but_not_by_another_sites_form(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings(data=tmp_path_factory.mktemp("forms"), slow_artifact_sync=False)
    with RunningService(settings, toolchain=StandInToolchain()) as running:
        from tests.acceptance.service.jobs_over_http import finished, submit
        from warpwright.service.testing import new_ir

        options = {"build_options": ["flush_denormals"]}
        job = finished(running.client, submit(running.client, new_ir(schedules=1), **options)["id"])["id"]
        assert "built with flush_denormals" in running.client.get(f"/jobs/{job}").text
        form = {"action": "delete", "job": job}
        foreign = running.client.post("/jobs", data=form, headers={"Origin": "http://127.0.0.1:1"})
        assert foreign.status_code == 403
        assert running.client.get(f"/v1/jobs/{job}").status_code == 200
        assert running.client.post("/jobs", data=form).status_code == 303
        assert running.client.get(f"/v1/jobs/{job}").status_code == 404
