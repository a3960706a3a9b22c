"""Versions that the lowered kernel shows are compared with the plan (bug case 94)."""

from dataclasses import dataclass

from warpwright.lowering.ascend.honour import differences
from warpwright.solver.domain import BufferSchedule, BufferVersions, ChosenBy, VersionMode


@dataclass
class Shown:
    versions: dict[str, int]
    source: str = ""


def plan(**counts: int) -> BufferSchedule:
    entries = [
        BufferVersions(name, count, VersionMode.ITERATION, ChosenBy.SOLVER, ChosenBy.RULE)
        for name, count in counts.items()
    ]
    return BufferSchedule(tuple(entries), ())


def test_more_fewer_ignored_and_unplanned_versions_are_named() -> None:
    assert differences(plan(a=2, b=1), Shown({"a": 2, "b": 1})) == ()
    assert differences(plan(a=2, b=1), Shown({"a": 2})) == ()
    gaps = differences(plan(a=2, b=2, c=1), Shown({"a": 4, "c": 1, "d": 2}))
    assert [(gap.what, gap.planned, gap.found) for gap in gaps] == [
        ("versions of a", "2", "4"),
        ("versions of b", "2", "1"),
        ("versions of d", "not planned", "2"),
    ]


def test_a_source_that_would_hang_is_not_honoured() -> None:
    source = "__global__ void k() {\n  asc_sync_wait(PIPE_M, PIPE_V, static_cast<event_t>(3));\n}\n"
    (gap,) = differences(plan(), Shown({}, source))
    assert (gap.what, gap.found) == ("event flags", "PIPE_M to PIPE_V, flag 3: a wait has no set before it")
