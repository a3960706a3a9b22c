"""The event core: units are shared fairly, queues are first in first out, mbarriers follow parity, deadlock is seen."""

import pytest

from warpwright.solver.device.operation_costs import OperationCost
from warpwright.solver.forecast.events import (
    Arrive,
    Async,
    Barrier,
    Commit,
    Drain,
    EventSimulation,
    Mark,
    RunStep,
    Stream,
    SyncStep,
    WaitStep,
)


def stream(name: str, *instructions: object, start: float = 0.0) -> Stream:
    return Stream(name, name, list(instructions), start)  # type: ignore[arg-type]  # tests build instructions by hand


def test_two_jobs_on_one_unit_take_twice_as_long() -> None:
    job = OperationCost("product", (("tensor_core", 100.0),))
    assert EventSimulation([stream("a", RunStep(job)), stream("b", RunStep(job))]).run() == pytest.approx(200.0)


def test_jobs_on_different_units_overlap() -> None:
    first, second = OperationCost("product", (("tensor_core", 100.0),)), OperationCost("exponentials", (("sfu", 80.0),))
    assert EventSimulation([stream("a", RunStep(first)), stream("b", RunStep(second))]).run() == pytest.approx(100.0)


def test_a_job_is_as_slow_as_its_most_contended_unit() -> None:
    product = OperationCost("product", (("tensor_core", 100.0), ("shared", 60.0)))
    copy = OperationCost("copy", (("shared", 60.0),))
    # Alone they take 0.6 and all of shared memory: together both run at 1 / 1.6, so the copy ends at 96, with 40 % to go.
    assert EventSimulation([stream("a", RunStep(product)), stream("b", RunStep(copy))]).run() == pytest.approx(
        96.0 + 40.0
    )


def test_a_single_stream_does_not_fill_a_unit_that_it_cannot_keep_busy() -> None:
    job = OperationCost("arithmetic", (("alu", 60.0),), floor=100.0)
    assert EventSimulation([stream("a", RunStep(job))]).run() == pytest.approx(100.0)
    assert EventSimulation([stream("a", RunStep(job)), stream("b", RunStep(job))]).run() == pytest.approx(120.0)


def test_a_queue_passes_one_job_at_a_time_and_latency_overlaps() -> None:
    load = OperationCost("load", (("fill", 50.0),), lead=100.0, queue="tma")
    loader = stream("load", Async(load, "p"), Async(load, "p"), Drain("p", "loads"))
    engine = EventSimulation([loader])
    assert engine.run() == pytest.approx(200.0)
    side_by_side = EventSimulation(
        [stream("load", Async(load, "p"), Drain("p", "loads"))], side_by_side=frozenset({"tma"})
    )
    assert side_by_side.run() == pytest.approx(150.0)


def test_drain_lets_the_allowed_number_stay_unfinished() -> None:
    load = OperationCost("load", (("fill", 50.0),), lead=100.0, queue="tma")
    eager = stream("load", Async(load, "p"), Async(load, "p"), Drain("p", "loads", allowed=1), Mark("k", 0))
    EventSimulation([eager]).run()
    assert eager.marks["k", 0] == pytest.approx(150.0)


def test_streams_side_by_side_share_units_but_a_streams_own_jobs_pass_in_turn() -> None:
    product = OperationCost("product", (("tensor_core", 100.0),), queue="tensor_core")
    work = [
        Async(product, "p"),
        Async(product, "p"),
        Drain("p", "wgmma", 1),
        Mark("k", 0),
        Drain("p", "wgmma"),
        Mark("k", 1),
    ]
    streams = [stream("a", *work), stream("b", *work)]
    assert EventSimulation(streams, side_by_side=frozenset({"tensor_core"})).run() == pytest.approx(400.0)
    assert [s.marks["k", step] for s in streams for step in (0, 1)] == pytest.approx([200.0, 400.0] * 2)
    turns = [stream("a", *work), stream("b", *work)]
    assert EventSimulation(turns).run() == pytest.approx(400.0)
    assert [s.marks["k", step] for s in turns for step in (0, 1)] == pytest.approx([100.0, 200.0, 300.0, 400.0])


@pytest.mark.parametrize("apart", [frozenset[str](), frozenset({"tensor_core"})])
@pytest.mark.parametrize("flying", [1, 2, 5])
def test_jobs_in_flight_take_their_floor_each_and_their_tails_overlap(apart: frozenset[str], flying: int) -> None:
    product = OperationCost("product", (("tensor_core", 100.0),), floor=150.0, tail=60.0, queue="tensor_core")
    engine = EventSimulation([stream("a", *[Async(product, "p")] * flying, Drain("p", "wgmma"))], side_by_side=apart)
    assert engine.run() == pytest.approx(150.0 * flying + 60.0)


def test_a_commit_without_jobs_of_its_own_waits_for_those_that_still_run() -> None:
    first, second = Barrier("first", 1), Barrier("second", 1)
    product = OperationCost("product", (("tensor_core", 100.0),), queue="tensor_core")
    core = stream(
        "mma", Async(product, "p"), Commit(first, "p"), Async(product, "p"), Commit(first, "p"), Commit(second, "p")
    )
    one, all_done = (stream(b.name, WaitStep(b, 0, b.name), Mark("k", 0)) for b in (first, second))
    EventSimulation([core, one, all_done]).run()
    assert one.marks["k", 0] == pytest.approx(100.0)
    assert all_done.marks["k", 0] == pytest.approx(200.0)


def test_tail_occupies_no_unit() -> None:
    job = OperationCost("product", (("tensor_core", 100.0),), tail=50.0)
    engine = EventSimulation([stream("a", RunStep(job), Mark("k", 0)), stream("b", RunStep(job), Mark("k", 0))])
    assert engine.run() == pytest.approx(250.0)
    assert engine.busy["tensor_core"] == pytest.approx(200.0)


def test_a_barrier_phase_needs_all_arrivals_and_wakes_with_latency() -> None:
    full = Barrier("full", 2, latency=5.0)
    load = OperationCost("load", (("fill", 30.0),))
    waiting = stream("consumer", WaitStep(full, 0, "full"), Mark("k", 0))
    early = stream("early", Arrive(full))
    late = stream("late", Async(load, "p"), Commit(full, "p"))
    engine = EventSimulation([waiting, early, late])
    engine.run()
    assert waiting.marks["k", 0] == pytest.approx(35.0)
    (stall,) = waiting.stalls
    assert stall[:2] == pytest.approx((0.0, 35.0))
    assert stall[2] == "full"


def test_parity_of_a_fresh_barrier_lets_the_producer_pass_and_the_consumer_wait() -> None:
    barrier = Barrier("empty", 1)
    assert barrier.passes(1)
    assert not barrier.passes(0)
    EventSimulation([stream("producer", Arrive(barrier))]).run()
    assert barrier.passes(0)
    assert not barrier.passes(1)


def test_a_phase_that_was_over_for_long_enough_is_not_waited_for() -> None:
    """Its latency is the barrier's own: who comes after it waits for nothing, who comes within it waits for the rest."""
    for began, end in ((10.0, 10.0), (3.0, 5.0)):
        full = Barrier("full", 1, latency=5.0)
        work = OperationCost("work", (), floor=began)
        waiting = stream("consumer", RunStep(work), WaitStep(full, 0, "full"), Mark("k", 0))
        EventSimulation([stream("producer", Arrive(full)), waiting]).run()
        assert waiting.marks["k", 0] == pytest.approx(end)


def test_thread_barriers_release_all_members_together() -> None:
    slow = stream("slow", RunStep(OperationCost("work", (("alu", 40.0),))), SyncStep("role", 2, 3.0), Mark("k", 0))
    fast = stream("fast", SyncStep("role", 2, 3.0), Mark("k", 0))
    EventSimulation([slow, fast]).run()
    assert slow.marks["k", 0] == fast.marks["k", 0] == pytest.approx(43.0)


def test_streams_that_wait_for_each_other_are_reported() -> None:
    left, right = Barrier("left", 1), Barrier("right", 1)
    a = stream("a", WaitStep(left, 0, "full:left"), Arrive(right))
    b = stream("b", WaitStep(right, 0, "full:right"), Arrive(left))
    engine = EventSimulation([a, b])
    engine.run()
    assert engine.stuck() == ("a waits for full:left", "b waits for full:right")


def test_nobody_is_stuck_when_all_finish() -> None:
    engine = EventSimulation([stream("a", RunStep(OperationCost("work", (("alu", 1.0),))))])
    engine.run()
    assert engine.stuck() == ()
