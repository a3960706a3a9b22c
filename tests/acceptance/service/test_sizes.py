"""A measured winner is checked at the kernel's other sizes before it is delivered; who is wrong there never wins."""

from collections.abc import Sequence
from typing import Any

import httpx

from tests.acceptance.service.jobs_over_http import candidates, finished
from warpwright.service.testing import StandInToolchain, new_ir

BASE = 3 + 3
"""Builds of a job with three schedules: those and the compiler's own choices."""


def size(name: str, **recipe: Any) -> dict[str, str]:
    return {"name": name, "ir": new_ir(**recipe)}


def submit(client: httpx.Client, ir: str, sizes: Sequence[dict[str, str]], **fields: Any) -> dict[str, Any]:
    body = {"variants": [{"ir": ir, "sizes": list(sizes)}], "profile": "h200", **fields}
    response = client.post("/v1/jobs", json=body)
    assert response.status_code in (200, 202), response.text
    return finished(client, response.json()["id"])


def winner(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    view: dict[str, Any] = client.get(f"/v1/jobs/{job['id']}/candidates/{job['best']}").json()
    return view


def test_only_the_winner_is_built_again_and_says_where_it_was_right(start: Any) -> None:
    tools = StandInToolchain(device=True)
    client = start(tools).client
    job = submit(client, new_ir(schedules=3), [size("M=1000"), size("M=9000")])
    assert job["variants"][0]["sizes"] == ["M=1000", "M=9000"]
    assert job["note"] == "measured"
    best = winner(client, job)
    assert best["report"]["number"] == 0
    assert [(e["name"], e["outcome"]) for e in best["measurement"]["sizes"]] == [
        ("M=1000", "right"),
        ("M=9000", "right"),
    ]
    again = sorted(tools.compiled[BASE:])
    assert again == ["scheduled:0", "scheduled:0", "unspecialized:-1", "unspecialized:-1"]


def test_who_is_wrong_at_another_size_never_wins(start: Any) -> None:
    client = start(StandInToolchain(device=True)).client
    job = submit(client, new_ir(schedules=3), [size("M=1000"), size("M=9000", wrong=[0, 1])])
    assert winner(client, job)["report"]["number"] == 2
    wrong = {c["report"]["number"]: c for c in map(_view(client, job), candidates(client, job["id"]))}
    for number in (0, 1):
        assert wrong[number]["outcome"] == "wrong_result"
        assert wrong[number]["measured_ns"] is None
        assert "at M=9000" in wrong[number]["failure"]["message"]
    assert job["best"] not in (wrong[0]["id"], wrong[1]["id"])
    assert job["speedup"] is not None


def test_a_size_that_the_schedule_cannot_be_built_for_says_so(start: Any) -> None:
    client = start(StandInToolchain(device=True)).client
    broken = size("M=1000", faults={0: "over_resource"})
    job = submit(client, new_ir(schedules=2), [broken])
    best = winner(client, job)
    assert best["report"]["number"] == 0
    (entry,) = best["measurement"]["sizes"]
    assert entry["outcome"] == "not_built"
    assert entry["message"].startswith("over_resource")
    assert job["note"] == "measured, not checked at another size"
    both = submit(client, new_ir(schedules=2), [broken, size("M=9000")])
    assert [e["outcome"] for e in winner(client, both)["measurement"]["sizes"]] == ["not_built", "right"]
    assert both["note"] == "measured"


def test_a_known_time_is_not_taken_again_and_new_sizes_are_checked(start: Any) -> None:
    tools = StandInToolchain(device=True)
    client = start(tools).client
    ir, first, second = new_ir(schedules=3), size("M=1000"), size("M=9000", wrong=[0])
    before = submit(client, ir, [first])
    assert len(tools.compiled) == BASE + 2
    assert submit(client, ir, [first])["id"] == before["id"]
    assert winner(client, submit(client, ir, [first], seed=1))["report"]["number"] == 0
    assert len(tools.compiled) == BASE + 2
    assert winner(client, submit(client, ir, [second]))["report"]["number"] == 1
    assert len(tools.compiled) == BASE + 2 + 4


def test_a_stored_result_goes_when_its_candidate_turns_out_wrong(start: Any) -> None:
    client = start(StandInToolchain(device=True)).client
    ir = new_ir(schedules=3)
    fast = submit(client, ir, [])
    wanted = {"ir": ir, "profile": "h200"}
    assert client.post("/v1/results:lookup", json=wanted).json()["result"]["candidate"] == fast["best"]
    right = submit(client, ir, [size("M=9000", wrong=[0])])
    stored = client.post("/v1/results:lookup", json=wanted).json()["result"]
    assert stored["candidate"] == right["best"] != fast["best"]
    assert stored["measured_ns"] > winner(client, fast)["measured_ns"]


def test_without_a_device_nothing_is_built_for_other_sizes(client: httpx.Client) -> None:
    job = submit(client, new_ir(schedules=3), [size("M=1000")])
    assert job["note"] == "compiled, not measured"
    assert job["total"] == BASE


def test_sizes_of_a_refreshed_job_and_in_the_store_are_kept(start: Any) -> None:
    tools = StandInToolchain(device=True)
    client = start(tools).client
    submit(client, new_ir(schedules=1), [size("M=1000")])
    tools.version = "2"
    (again,) = client.post("/v1/results:refresh", json={"stale": ["toolchain"]}).json()["jobs"]
    job = finished(client, again)
    assert job["variants"][0]["sizes"] == ["M=1000"]
    assert [e["outcome"] for e in winner(client, job)["measurement"]["sizes"]] == ["right"]


def _view(client: httpx.Client, job: dict[str, Any]) -> Any:
    return lambda c: client.get(f"/v1/jobs/{job['id']}/candidates/{c['id']}").json()
