"""Results that were measured elsewhere: proven like what is measured here, or nothing of them is taken."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.warpwright.conftest import Service
from warpwright.bundles import contents_of
from warpwright.cli.bundle import run_measure
from warpwright.cli.exit_codes import ExitCode, exit_code_of
from warpwright.client import Client
from warpwright.lowering.measure.runner import MeasureJob
from warpwright.lowering.testing.device import simulated_kernel
from warpwright.remote import result_of_job
from warpwright.service.testing import new_ir
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.tuning.bundle import Contents, pack, write_results
from warpwright.tuning.measure import measure_all
from warpwright.tuning.testing.on_runner import SIMULATED

Document = dict[str, Any]


class Job:
    """A job whose candidates were built and not measured, and what a device said of them."""

    def __init__(self, service: Service, folder: Path, **recipe: Any) -> None:
        self.service = service
        self.ir = new_ir(schedules=2, **recipe)
        code, answer = service.tune(self.ir, folder, "-n", "2", "--no-measure")
        assert (code, answer["note"]) == (ExitCode.OK, "compiled, not measured")
        self.id = str(answer["job"])
        with Client(service.running.url) as client:
            result = result_of_job(client, client.job(self.id), products_of=lambda view: True)
        contents = contents_of(result, folder)
        report = measure_all(
            contents.jobs,
            SIMULATED,
            preference=contents.preference,
            always_final=contents.always_final,
            baselines=contents.baselines,
        )
        self.document: Document = json.loads(write_results(contents, report))
        self.folder = folder

    def tell(self, document: Document | None = None) -> tuple[int, Document]:
        """The command's exit code, and its document."""
        path = self.folder / "results.json"
        path.write_text(json.dumps(document or self.document))
        code, out = self.service.run("tell", self.id, str(path), "--json")
        return code, json.loads(out)

    def seen(self) -> tuple[Any, ...]:
        """The answer as the API has it, as the page shows it, and as a lookup finds it: who won, and on what basis."""
        client = self.service.running.client
        job = client.get(f"/v1/jobs/{self.id}").json()
        found = client.post("/v1/results:lookup", json={"ir": self.ir, "profile": "h200"}).json()
        result = found.get("result") or {}
        page = client.get(f"/jobs/{self.id}").text
        return job["best"], job["note"], result.get("candidate"), result.get("measured"), job["note"] in page

    def measured(self) -> Document:
        """The first result of the document that has a time."""
        return next(entry for entry in self.document["results"] if entry["summary"])


@pytest.fixture
def job(start: Callable[..., Service], tmp_path: Path) -> Job:
    return Job(start(), tmp_path)


def test_what_a_session_measured_is_taken_and_everybody_sees_it(job: Job) -> None:
    code, told = job.tell()
    assert (code, told["note"]) == (ExitCode.OK, "measured")
    assert told["speedup"] > 1.1
    best, note, candidate, measured, shown = job.seen()
    assert (best, note, candidate, measured, shown) == (told["best"], "measured", told["best"], True, True)
    assert job.tell() == (code, told | {"last_event": told["last_event"] + 1}), "told twice changes nothing"


def no_checks(entry: Document, document: Document) -> None:
    entry["checks"] = []


def no_check_afterwards(entry: Document, document: Document) -> None:
    entry["checks"] = entry["checks"][:3]


def wrong_outputs(entry: Document, document: Document) -> None:
    entry["checks"][1]["comparisons"][0]["relative_error"] = 0.5


def disagreeing_launches(entry: Document, document: Document) -> None:
    entry["checks"][0] |= {"launches": 8, "agreed": 5, "reproducible": True}


def no_device(entry: Document, document: Document) -> None:
    entry["device"] = None


def another_device(entry: Document, document: Document) -> None:
    entry["device"]["name"] = "NVIDIA A100"


def no_digest(entry: Document, document: Document) -> None:
    entry["binary_digest"] = ""


def faster_than_light(entry: Document, document: Document) -> None:
    entry["summary"] |= dict.fromkeys(("minimum_ns", "p10_ns", "median_ns", "p90_ns"), 1.0)
    entry["summary"]["count"] = 5


def one_launch(entry: Document, document: Document) -> None:
    entry["summary"]["count"] = 1


def times_out_of_order(entry: Document, document: Document) -> None:
    entry["summary"]["minimum_ns"] = 1e9


def an_unknown_protocol(entry: Document, document: Document) -> None:
    for each in [*document["results"], document["rounds"], document]:
        each["protocol"] = "gpu-99"


def too_few_rounds(entry: Document, document: Document) -> None:
    document["rounds"]["figures_ns"] = {name: [1.0] for name in document["rounds"]["figures_ns"]}


def rounds_of_no_time(entry: Document, document: Document) -> None:
    name = entry["candidate"]
    document["rounds"]["figures_ns"][name] = [0.0] * len(document["rounds"]["figures_ns"][name])


FORGERIES = (
    no_checks,
    no_check_afterwards,
    wrong_outputs,
    disagreeing_launches,
    no_device,
    another_device,
    no_digest,
    faster_than_light,
    one_launch,
    times_out_of_order,
    an_unknown_protocol,
    too_few_rounds,
    rounds_of_no_time,
)


def test_a_forged_document_is_refused_whole(job: Job) -> None:
    """A time of 1 ns without device, checks, rounds or digest had become the stored winner."""
    before, genuine = job.seen(), json.dumps(job.document)
    for forge in FORGERIES:
        document = json.loads(genuine)
        forge(next(entry for entry in document["results"] if entry["summary"]), document)
        code, told = job.tell(document)
        assert (code, told["error"]["code"]) == (ExitCode.REFUSED, "results-unproven"), (forge.__name__, told)
        assert job.seen() == before, forge.__name__


def test_a_time_below_the_roofline_is_refused(start: Callable[..., Service], tmp_path: Path) -> None:
    """The floor is what the build knew of the kernel; whoever tells it another one is not asked."""
    job = Job(start(), tmp_path, traffic_bytes=1 << 30)
    document = job.document
    assert {entry["flags"][0] for entry in document["results"]} == {"implausible"}, "the session saw it too"
    for entry in document["results"]:
        entry["flags"] = []
    _, told = job.tell(document)
    assert told["error"]["code"] == "results-unproven"
    assert "which no launch on this device can beat" in told["error"]["message"]


def test_what_the_environment_did_takes_nothing_away(job: Job) -> None:
    """'torch sees no CUDA device' had replaced every 'compiled', and the job had no answer while a lookup still had one."""
    before = job.seen()
    missing = {"kind": "not_applicable", "message": "torch sees no CUDA device 0", "details": ["device-missing"]}
    bare: Document = {"device": None, "summary": None, "checks": [], "flags": [], "before": None, "after": None}
    results = [
        entry | bare | {"binary_digest": "", "outcome": entry["outcome"] | missing} for entry in job.document["results"]
    ]
    document = job.document | {"results": results, "rounds": None, "screening": None, "verdict": None, "partial": True}
    code, _ = job.tell(document)
    assert code == ExitCode.OK
    assert job.seen() == before
    rows = job.service.running.client.get(f"/v1/jobs/{job.id}/candidates").json()["items"]
    assert {row["outcome"] for row in rows} == {"compiled"}
    assert {row["failure"]["code"] for row in rows} == {"device-missing"}


def test_a_winner_that_turns_out_wrong_is_nobodys_answer_any_more(job: Job) -> None:
    """Job, page and lookup follow, also from a better answer to a worse one."""
    job.tell()
    best = job.seen()[0]
    entry = next(entry for entry in job.document["results"] if entry["candidate"] == best)
    entry["outcome"] |= {"kind": "wrong_result", "message": "C: relative error 1", "details": ["after_rounds"]}
    job.document["rounds"]["wrong"] = {best: "C: relative error 1"}
    job.document["verdict"] = None
    code, told = job.tell()
    assert code == ExitCode.OK
    now, note, candidate, measured, shown = job.seen()
    assert now != best
    assert (now, note, candidate, measured, shown) == (told["best"], "measured", now, True, True)


def bundle(folder: Path) -> Path:
    kernel = simulated_kernel("a")
    pack(folder / "b.tar", Contents((MeasureJob("a", kernel, kernel),), origin="job_1", profile="h200"))
    return folder / "b.tar"


def test_measuring_without_a_device_ends_with_a_code_and_writes_nothing(tmp_path: Path) -> None:
    """It wrote a document of nothing, with code 0, and telling it took every answer away."""
    with pytest.raises(WarpwrightError, match="nothing was measured") as caught:
        run_measure(bundle(tmp_path), tmp_path / "results.json", "npu:0", 60.0)
    assert (caught.value.code, exit_code_of(caught.value)) == ("device-missing", ExitCode.MISSING)
    assert not (tmp_path / "results.json").exists()


def test_a_device_that_fails_is_no_result_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpwright.cli.bundle._device", lambda text: SIMULATED | {"canary": "wrong"})
    with pytest.raises(WarpwrightError, match="known sum") as caught:
        run_measure(bundle(tmp_path), tmp_path / "results.json", "0", 60.0)
    assert exit_code_of(caught.value) == ExitCode.FAULT
    assert not (tmp_path / "results.json").exists()
