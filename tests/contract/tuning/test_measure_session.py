"""A measuring session against a device that misbehaves: the same task, runner and supervision as on a GPU."""

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpwright.lowering.measure import MeasureJob, OtherSize
from warpwright.lowering.measure.result import Measured
from warpwright.lowering.testing.device import simulated_kernel
from warpwright.solver.domain import Fault, Outcome
from warpwright.tuning.children import Limits
from warpwright.tuning.measure import MeasureReport, measure_all
from warpwright.tuning.measure.lease import DeviceLease, queue_of_device

OPTIONS = ("always_final", "preference", "budget_seconds", "cancel", "on_result")

LIMITS = Limits(wall_seconds=4.0, memory_bytes=1 << 30)


@pytest.fixture(autouse=True)
def own_leases(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("WARPWRIGHT_LEASES", str(tmp_path_factory.mktemp("leases")))


def job(name: str, *, dtype: str = "bfloat16", floor_ns: float = 0.0, arch: str = "sm_90a") -> MeasureJob:
    kernel = simulated_kernel(name, dtype=dtype, arch=arch)
    return MeasureJob(name, kernel, simulated_kernel("reference", dtype=dtype), floor_ns)


def session(
    kernels: dict[str, dict[str, Any]], *, jobs: list[MeasureJob] | None = None, **options: Any
) -> MeasureReport:
    keys = {
        key: options.pop(key)
        for key in ("always_final", "preference", "budget_seconds", "cancel", "on_result")
        if key in options
    }
    device = {"kind": "simulated", "kernels": kernels, **options}
    return measure_all(jobs or [job(name) for name in kernels], device, limits=LIMITS, lease_patience_seconds=0, **keys)


def kinds(report: MeasureReport) -> dict[str, Outcome]:
    return {result.candidate: result.outcome.kind for result in report.results}


def test_good_candidates_are_checked_timed_and_compared_interleaved() -> None:
    report = session({"a": {"ns": 1000, "noise": 0.01}, "b": {"ns": 1020, "noise": 0.01}, "slow": {"ns": 4000}})
    assert set(kinds(report).values()) == {Outcome.MEASURED}
    assert report.winner == "a"
    assert report.rounds is not None
    assert set(report.rounds.figures_ns) == {"a", "b"}
    assert report.verdict is not None
    result = report.result("a")
    assert result.summary is not None
    assert result.summary.median_ns == pytest.approx(1000, rel=0.02)
    assert [check.seed for check in result.checks][:3] == [11, 23, 47]
    assert result.waves == 2.0
    assert result.before is not None
    assert result.before.sm_clock_mhz == 1980


@pytest.mark.parametrize("wrong", ["value", "corner", "nan", "left", "right"])
def test_a_wrong_result_never_wins_and_is_not_timed(wrong: str) -> None:
    report = session({"wrong": {"ns": 1, "wrong": wrong}, "right": {"ns": 1000}})
    assert kinds(report) == {"wrong": Outcome.WRONG_RESULT, "right": Outcome.MEASURED}
    assert report.winner == "right"
    assert report.result("wrong").summary is None
    assert report.result("wrong").outcome.kind.fault is Fault.CANDIDATE


def test_launches_of_one_input_that_differ_are_a_wrong_result_far_below_the_tolerance() -> None:
    report = session({"races": {"ns": 1, "wrong": "drifts"}, "right": {"ns": 1000}})
    assert kinds(report) == {"races": Outcome.WRONG_RESULT, "right": Outcome.MEASURED}
    assert "7 of 8 launches of one input differ from the first bit by bit" in report.result("races").outcome.message
    assert [(check.launches, check.agreed) for check in report.result("right").checks][:3] == [(8, 8)] * 3


def test_a_kernel_whose_reference_differs_from_itself_is_told_and_not_blamed() -> None:
    report = session({"adds": {"ns": 900, "wrong": "drifts"}, "reference": {"wrong": "drifts"}}, jobs=[job("adds")])
    assert kinds(report) == {"adds": Outcome.MEASURED}
    check = report.result("adds").checks[0]
    assert (check.launches, check.agreed, check.reproducible) == (8, 1, False)


@pytest.mark.parametrize("half", ["left", "right"])
def test_a_half_written_integer_output_is_seen_through_two_poisons(half: str) -> None:
    jobs = [job("half", dtype="int32")]
    report = session({"half": {"wrong": half}}, jobs=jobs)
    assert kinds(report) == {"half": Outcome.WRONG_RESULT}


def test_a_kernel_that_goes_wrong_while_it_is_timed_is_caught_afterwards() -> None:
    report = session({"late": {"ns": 10, "wrong": "late"}})
    assert kinds(report) == {"late": Outcome.WRONG_RESULT}
    assert report.result("late").outcome.details == ("after_timing",)
    assert report.winner is None


def test_each_fault_costs_its_own_candidate_only() -> None:
    kernels: dict[str, dict[str, Any]] = {
        "refused": {"fault": "refused"},
        "illegal": {"fault": "illegal"},
        "hang": {"fault": "hang"},
        "segfault": {"fault": "segfault"},
        "good": {"ns": 1000},
    }
    report = session(kernels)
    assert kinds(report) == {
        "refused": Outcome.LAUNCH_FAILED,
        "illegal": Outcome.CRASHED,
        "hang": Outcome.TIMED_OUT,
        "segfault": Outcome.CRASHED,
        "good": Outcome.MEASURED,
    }
    assert report.winner == "good"
    assert all(result.outcome.kind.fault is Fault.CANDIDATE for result in report.results[:-1])


def test_a_hang_costs_its_launch_and_not_the_limit_of_a_candidate() -> None:
    """One hanging kernel took the minute that a candidate may last, and with it the session of all others."""
    device = {"kind": "simulated", "kernels": {"hang": {"fault": "hang"}, "good": {"ns": 1000}}}
    report = measure_all([job("hang"), job("good")], device)
    assert kinds(report) == {"hang": Outcome.TIMED_OUT, "good": Outcome.MEASURED}
    outcome = report.result("hang").outcome
    assert (outcome.details, outcome.message) == (("hang",), "a launch did not return within 2.0 s")
    assert report.winner == "good"


def test_a_launch_may_take_longer_where_the_kernel_is_known_to_be_slow() -> None:
    device = {"kind": "simulated", "kernels": {"hang": {"fault": "hang"}}}
    known = replace(job("hang", floor_ns=1e6), expected_ns=1e8)
    assert "within 4.0 s" in measure_all([known], device).result("hang").outcome.message


def test_a_reference_that_hangs_is_launched_once_and_blames_nobody() -> None:
    kernels: dict[str, dict[str, Any]] = {"reference": {"fault": "hang"}, "a": {}, "b": {}}
    report = session(kernels, jobs=[job("reference"), job("a"), job("b")])
    assert kinds(report) == {
        "reference": Outcome.TIMED_OUT,
        "a": Outcome.REFERENCE_FAILED,
        "b": Outcome.REFERENCE_FAILED,
    }
    assert report.result("b").outcome.message == "the reference: a launch did not return within 2.0 s"
    assert report.result("b").device is None, "nothing was run for it"


def test_a_reference_that_breaks_the_context_is_not_the_candidates_fault() -> None:
    report = session({"reference": {"fault": "illegal"}, "a": {}}, jobs=[job("a")])
    assert kinds(report) == {"a": Outcome.REFERENCE_FAILED}
    assert "CUDA error 700" in report.result("a").outcome.message


@pytest.mark.parametrize(("fault", "ended"), [("hang", Outcome.TIMED_OUT), ("illegal", Outcome.CRASHED)])
def test_a_finalist_that_ends_the_rounds_costs_the_others_none_of_theirs(fault: str, ended: Outcome) -> None:
    kernels: dict[str, dict[str, Any]] = {
        "fast": {"ns": 900, "fault": fault, "after": 120},
        "a": {"ns": 1000},
        "b": {"ns": 1010},
    }
    report = session(kernels)
    assert kinds(report) == {"fast": ended, "a": Outcome.MEASURED, "b": Outcome.MEASURED}
    assert report.rounds is not None
    assert set(report.rounds.figures_ns) == {"a", "b"}
    assert report.winner == "a"


def test_a_lost_device_is_nobodys_fault_and_a_fresh_process_may_find_it_again() -> None:
    report = session({"unlucky": {"fault": "lost"}, "next": {"ns": 1000}})
    assert kinds(report) == {"unlucky": Outcome.DEVICE_LOST, "next": Outcome.MEASURED}
    assert report.result("unlucky").outcome.kind.retried
    assert not report.result("unlucky").outcome.kind.remembered


def test_a_child_that_somebody_killed_is_asked_again(tmp_path: Path) -> None:
    """A chaos run left one candidate of six without a time: its child had been killed, and the session went on."""
    once = {"fault": "killed", "once": str(tmp_path / "once")}
    report = session({"unlucky": {"ns": 900, **once}, "always": {"fault": "killed"}, "next": {"ns": 1000}})
    assert kinds(report) == {
        "unlucky": Outcome.MEASURED,
        "always": Outcome.INFRASTRUCTURE,
        "next": Outcome.MEASURED,
    }
    assert not report.result("always").outcome.kind.remembered
    assert report.winner == "unlucky"


def test_a_device_that_fails_the_canary_measures_nothing() -> None:
    report = session({"a": {}, "b": {}}, canary="wrong")
    assert set(kinds(report).values()) == {Outcome.DEVICE_LOST}
    assert report.winner is None


def test_times_taken_beside_other_processes_never_win() -> None:
    report = session({"a": {"ns": 1000}}, foreign=1)
    assert report.result("a").flags == ("contended",)
    assert not report.result("a").eligible
    assert report.winner is None


def test_a_neighbour_that_does_nothing_takes_no_time_from_us() -> None:
    """A notebook that holds a context made every candidate contended, and the answer unmeasured."""
    report = session({"a": {"ns": 1000}}, foreign=1, foreign_busy=0)
    assert report.result("a").flags == ()
    assert report.winner == "a"


def test_a_time_below_the_roofline_is_looked_at_twice_and_cannot_win() -> None:
    jobs = [job("tiny", floor_ns=500.0), job("honest", floor_ns=500.0)]
    report = session({"tiny": {"ns": 1}, "honest": {"ns": 800}}, jobs=jobs)
    assert "implausible" in report.result("tiny").flags
    assert len(report.result("tiny").checks) > len(report.result("honest").checks)
    assert report.winner == "honest"


def test_a_noisy_device_ends_with_a_flag_not_with_endless_retries() -> None:
    report = session({"noisy": {"ns": 1000, "noise": 0.3}})
    result = report.result("noisy")
    assert result.flags == ("noisy",)
    assert result.summary is not None
    assert result.summary.count == 60
    assert result.summary.spread_ns > 0
    assert report.winner == "noisy"


def test_heat_hits_finalists_alike() -> None:
    report = session({"a": {"ns": 1000}, "b": {"ns": 1010}}, drift=1e-4)
    assert report.verdict is not None
    assert report.verdict.tied == ("a",)


def test_equal_candidates_tie_and_the_preferred_one_wins() -> None:
    kernels = {name: {"ns": 1000, "noise": 0.02} for name in ("x", "y", "default")}
    report = session(kernels, preference=("default",))
    assert report.verdict is not None
    assert "default" in report.verdict.tied
    assert report.winner == "default"


def test_yardsticks_are_timed_in_the_rounds_and_never_win() -> None:
    library = MeasureJob("cublas", simulated_kernel("cublas"), None)
    report = session(
        {"cublas": {"ns": 500, "wrong": "value"}, "ours": {"ns": 900}},
        jobs=[library, job("ours")],
        always_final=("cublas",),
    )
    assert report.rounds is not None
    assert set(report.rounds.figures_ns) == {"cublas", "ours"}
    assert report.winner == "ours"


def test_a_reference_that_fails_is_not_the_candidates_fault() -> None:
    report = session({"a": {}, "reference": {"fault": "refused"}}, jobs=[job("a")])
    assert kinds(report) == {"a": Outcome.REFERENCE_FAILED}
    assert not report.result("a").outcome.kind.remembered


def test_a_binary_for_another_chip_is_not_run() -> None:
    report = session({"a": {"fault": "segfault"}}, jobs=[job("a", arch="sm_100a")])
    assert kinds(report) == {"a": Outcome.NOT_APPLICABLE}


def other_size(name: str, kernel: str, reference: str = "reference") -> OtherSize:
    return OtherSize(name, simulated_kernel(kernel), simulated_kernel(reference))


def test_a_schedule_that_is_wrong_in_another_shape_of_waves_is_wrong() -> None:
    kernel = replace(job("one_wave"), also=(other_size("M=1000", "few_blocks"), other_size("M=9000", "many_waves")))
    report = session({"one_wave": {}, "few_blocks": {}, "many_waves": {"wrong": "value"}}, jobs=[kernel])
    assert kinds(report) == {"one_wave": Outcome.WRONG_RESULT}
    result = report.result("one_wave")
    assert "at M=9000" in result.outcome.message
    assert result.summary is None


def test_every_seed_is_checked_at_every_size_before_a_time_is_taken() -> None:
    kernel = replace(job("a"), also=(other_size("M=1000", "small"),))
    result = session({"a": {}, "small": {}}, jobs=[kernel]).result("a")
    assert [(check.size, check.seed) for check in result.checks[:6]] == [
        ("", 11), ("", 23), ("", 47), ("M=1000", 11), ("M=1000", 23), ("M=1000", 47),
    ]  # fmt: skip
    assert result.checks[3].waves == 2.0
    assert result.summary is not None


def test_a_reference_that_fails_at_another_size_is_not_the_candidates_fault() -> None:
    kernel = replace(job("a"), also=(other_size("M=1000", "small", "small_reference"),))
    report = session({"a": {}, "small": {}, "small_reference": {"fault": "refused"}}, jobs=[kernel])
    assert kinds(report) == {"a": Outcome.REFERENCE_FAILED}
    assert report.result("a").outcome.message.startswith("at M=1000: ")


def test_a_slow_kernel_is_gone_before_the_next_is_timed() -> None:
    """The limit ends the process, not a thread: what follows runs alone."""
    report = session({"slow": {"fault": "hang"}, "fast": {"ns": 1000}})
    assert report.result("fast").summary is not None
    assert report.winner == "fast"


def test_without_the_lease_nothing_is_measured() -> None:
    with DeviceLease("simulated-0-"):
        report = session({"a": {}})
    assert kinds(report) == {"a": Outcome.CONTENDED}
    assert report.winner is None


def test_the_device_is_waited_for_out_of_the_sessions_own_budget() -> None:
    device = {"kind": "simulated", "kernels": {"a": {}}}
    with DeviceLease("simulated-0-"):
        report = measure_all([job("a")], device, budget_seconds=3.5)
    outcome = report.result("a").outcome
    assert (outcome.kind, outcome.details) == (Outcome.CONTENDED, ("device-busy",))
    assert "another session measures on simulated-0-" in outcome.message
    assert report.partial


def test_who_waits_for_the_device_is_stopped_at_once() -> None:
    cancel = threading.Event()
    cancel.set()
    with DeviceLease("simulated-0-"):
        report = measure_all([job("a")], {"kind": "simulated", "kernels": {"a": {}}}, cancel=cancel)
    assert kinds(report) == {"a": Outcome.CANCELLED}


def test_a_session_ends_early_where_others_would_be_late() -> None:
    """Reference, default and best are measured though others wait, and their rounds are taken."""
    names = [f"k{number}" for number in range(6)]
    with queue_of_device("simulated-0-").place(time.monotonic() + 3600.0, 3600.0, ready=False):
        report = session({name: {"ns": 1000} for name in names})
    assert [result.outcome.kind for result in report.results] == [Outcome.MEASURED] * 3 + [Outcome.CANCELLED] * 3
    assert report.result("k5").outcome.details == ("device-busy",)
    assert report.rounds is not None
    assert set(report.rounds.figures_ns) == set(names[:3])
    assert report.partial


def test_a_lease_is_the_devices_own_whatever_index_it_is_seen_by() -> None:
    with DeviceLease("GPU-1"):
        assert kinds(session({"a": {}}, index=7, uuid="GPU-1")) == {"a": Outcome.CONTENDED}
        assert kinds(session({"a": {}}, index=7, uuid="GPU-2")) == {"a": Outcome.MEASURED}


def test_a_cancelled_session_gives_a_valid_partial_report() -> None:
    cancel, seen = threading.Event(), list[Measured]()

    def on_result(result: Measured) -> None:
        seen.append(result)
        cancel.set()

    report = session({"a": {"ns": 1000}, "b": {"ns": 900}}, cancel=cancel, on_result=on_result)
    assert [result.outcome.kind for result in report.results] == [Outcome.MEASURED, Outcome.CANCELLED]
    assert report.partial
    assert report.winner == "a"
    assert len(seen) == 2


def test_an_unknown_device_is_not_applicable_and_says_what_is_missing() -> None:
    report = measure_all([job("a")], {"kind": "npu", "index": 0}, limits=LIMITS, lease_patience_seconds=0)
    outcome = report.result("a").outcome
    assert outcome.kind is Outcome.NOT_APPLICABLE
    assert "torch_npu" in outcome.message


def test_finalists_are_chosen_interleaved_not_by_who_ran_on_a_cool_chip() -> None:
    """With a chip that slows down, times taken alone favour whoever came first; the screening rounds do not."""
    kernels = {f"k{number}": {"ns": 1000 - 12 * number} for number in range(10)}
    report = session(kernels, drift=3e-4)
    alone = {result.candidate: result.summary.median_ns for result in report.results if result.summary is not None}
    assert min(alone, key=lambda name: alone[name]) == "k0"
    assert report.screening is not None
    assert set(report.screening.figures_ns) == set(kernels)
    assert report.winner == "k9"
