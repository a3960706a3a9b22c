"""Chaos in short: a few kills of servers and children while a batch runs; ``python -m benchmarks.chaos`` is the long form."""

from benchmarks.chaos import run


def test_a_few_kills_lose_nothing_and_do_nothing_twice() -> None:
    report = run(kills=5, jobs=4, seed=3, limit=120.0)
    assert report["problems"] == [], report
    assert sum(report["kills"].values()) == 5
