"""Reports from a thread of their own: never waited for, never without the last one."""

import threading

import pytest

from warpwright.solver.engines.latest_value import Latest


def test_the_last_value_is_reported_and_overtaken_ones_are_left_out() -> None:
    seen: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def report(value: int) -> None:
        seen.append(value)
        begun.set()
        assert go_on.wait(120.0)

    with Latest(report) as latest:
        latest.offer(0)
        assert begun.wait(120.0)
        for value in (1, 2, 3):
            latest.offer(value)
        go_on.set()
    assert seen == [0, 3]


def test_a_value_offered_just_before_leaving_is_not_lost() -> None:
    for value in range(200):
        seen: list[int] = []
        with Latest(seen.append) as latest:
            latest.offer(value)
        assert seen == [value]


def test_an_error_of_the_report_is_raised_when_leaving() -> None:
    def report(value: int) -> None:
        raise ValueError(value)

    with pytest.raises(ValueError, match="7"), Latest(report) as latest:
        latest.offer(7)
