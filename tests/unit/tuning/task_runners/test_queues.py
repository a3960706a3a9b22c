"""Which worker a task needs."""

import pytest

from warpwright.tuning.children.registry import TASKS
from warpwright.tuning.task_runners.queues import QUEUES, UnknownCapability, checked, queue_of


@pytest.mark.parametrize(
    ("task", "queue"),
    [
        ("propose.warp", "solve"),
        ("propose.buffer", "solve"),
        ("solve.warp", "solve"),
        ("explain.warp", "solve"),
        ("recheck.certificate", "solve"),
        ("compile.cuda", "compile.cuda"),
        ("compile.ascend", "compile.ascend"),
        ("frontend.read", "frontend"),
        ("frontend.read_ascend", "frontend"),
        ("materialize.warp", "frontend"),
        ("lower.ascend", "frontend"),
        ("stand_in.compile", "compile.cuda"),
        ("stand_in.propose", "solve"),
    ],
)
def test_each_task_goes_to_the_queue_of_what_it_needs(task: str, queue: str) -> None:
    assert task in TASKS
    assert queue_of(task, {}) == queue


def test_a_session_goes_to_the_queue_of_its_device() -> None:
    assert queue_of("measure.session", {"profile": "h200"}) == "measure.h200"


def test_every_task_has_a_queue_that_a_worker_may_have() -> None:
    for task in TASKS:
        checked([queue_of(task, {"profile": "h200"})])


@pytest.mark.parametrize(
    "wrong", [["measure"], ["measure."], ["compile"], ["measure.h200", "Solve"], ["measure.a b"], []]
)
def test_unknown_capabilities_are_named(wrong: list[str]) -> None:
    with pytest.raises(UnknownCapability, match="capability"):
        checked(wrong)


def test_capabilities_are_kept_once() -> None:
    assert checked([*QUEUES, "solve", "measure.my-board_2"]) == (*QUEUES, "measure.my-board_2")
