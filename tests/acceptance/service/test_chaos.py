"""Chaos in short: a few kills of every kind while a batch runs; ``make chaos`` is the long form."""

import pytest

from benchmarks.chaos import run


@pytest.mark.parametrize("runner", ["local", "celery"])
def test_a_few_kills_lose_nothing_and_do_nothing_twice(runner: str) -> None:
    report = run(kills=5, jobs=4, runner=runner, seed=3, limit=120.0)
    assert report["problems"] == [], report
    assert report["kills"] == 5
    assert report["jobs_measured"] >= 1
