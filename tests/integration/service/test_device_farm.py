"""The farm of ``benchmarks.device_farm`` in short: the real commands, simulated devices, a worker killed in its session."""

from pathlib import Path

import pytest

from benchmarks.device_farm import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_batch_through_a_farm_of_commands(tmp_path: Path) -> None:
    report = run(tmp_path, devices=[0, 1], builders=2, seconds=200.0, candidates=3, simulated=True)
    assert report["killed"]["worker"] == "gpu0"
    for line in report["lines"]:
        assert (line["state"], line["kind"], line["outcomes"]) == ("done", "scheduled", {"measured": 6})
        assert line["measured"] == line["candidates"] == 6  # three schedules, and the compiler's own three choices
        assert line["fastest_ns_by_kind"].keys() == {"scheduled", "default", "role_based", "unspecialized"}
        assert not line["failures"]
    assert report["answered_alike_again"]
    assert sum(worker["tasks_done"] for worker in report["workers"] if worker["devices"]) >= len(report["lines"])
