"""Each family read as sentences: one schedule that keeps its rule, one that breaks it, seen by check and by replay."""

from dataclasses import replace

import pytest

from tests.unit.solver.modulo.tiny import chain, two_groups
from warpwright.solver.modulo import (
    Group,
    ModuloEdge,
    ModuloOp,
    ModuloProblem,
    ModuloSchedule,
    ModuloUnit,
    ModuloWait,
    Use,
    verify,
)
from warpwright.solver.modulo.families import FAMILIES
from warpwright.solver.modulo.replay import replay
from warpwright.solver.modulo.schedule_reader import ModuloReading

GOOD_CHAIN = ModuloSchedule(3, {"load": 0, "multiply": 4, "store": 8}, {})
GOOD_GROUPS = ModuloSchedule(
    7, {"product": 0, "softmax": 6, "output": 10}, {"product": "left", "softmax": "right", "output": "right"}
)


def families_of(problem: ModuloProblem, schedule: ModuloSchedule) -> tuple[set[str], set[str]]:
    """Families that the closed forms and the replay blame."""
    checked = {v.family for family in FAMILIES for v in family.check(ModuloReading(problem, schedule))}
    return checked, {violation.family for violation in replay(problem, schedule)}


def test_a_legal_schedule_breaks_nothing() -> None:
    assert verify(chain(capacity=3), GOOD_CHAIN) == ()


def test_a_consumer_may_not_issue_before_the_latency_is_over() -> None:
    early = replace(GOOD_CHAIN, starts={**GOOD_CHAIN.starts, "multiply": 3})
    assert families_of(chain(capacity=3), early) == ({"dependence"}, {"dependence"})


def test_two_uses_of_one_unit_may_not_meet_modulo_the_interval() -> None:
    clash = replace(GOOD_CHAIN, starts={**GOOD_CHAIN.starts, "store": 9})
    assert families_of(chain(capacity=3, stages=4), clash) == ({"units"}, {"units"})


def test_a_result_occupies_memory_for_every_iteration_in_flight() -> None:
    # load lives from 0 to 4 + 3 = 7: three copies overlap in cycle 0 of an interval of 3
    assert families_of(chain(capacity=3), GOOD_CHAIN) == (set(), set())
    assert families_of(chain(capacity=2), GOOD_CHAIN) == ({"memory"}, {"memory"})


def test_a_hand_off_to_another_group_costs_the_spill_and_a_wait() -> None:
    problem = two_groups()
    assert verify(problem, GOOD_GROUPS) == ()
    early = replace(GOOD_GROUPS, starts={**GOOD_GROUPS.starts, "softmax": 4})
    assert families_of(problem, early)[0] >= {"dependence"}
    assert families_of(problem, early)[1] >= {"dependence"}


def test_a_group_may_not_block_while_another_of_its_operations_executes() -> None:
    problem = two_groups()
    alone = {"product": "left", "softmax": "left", "output": "left"}
    inside = ModuloSchedule(6, {"product": 0, "softmax": 4, "output": 9}, alone)
    checked, replayed = families_of(problem, inside)
    assert "waits" in checked
    assert "waits" in replayed


def test_registers_count_only_for_those_who_share_the_group() -> None:
    tight = two_groups(registers=4)
    checked, replayed = families_of(tight, GOOD_GROUPS)
    assert (checked, replayed) == ({"registers"}, {"registers"})
    apart = replace(GOOD_GROUPS, groups={"product": "left", "softmax": "left", "output": "right"})
    assert "registers" not in families_of(two_groups(registers=8), apart)[1]


@pytest.mark.parametrize("group", ["load", "nowhere", None])
def test_an_operation_runs_on_a_group_of_its_kind_and_size(group: str | None) -> None:
    problem = replace(two_groups(), groups=(*two_groups().groups, Group("load", 1, 8, variable_latency=True)))
    groups = {**GOOD_GROUPS.groups}
    groups.pop("softmax")
    if group is not None:
        groups["softmax"] = group
    found = verify(problem, replace(GOOD_GROUPS, groups=groups))
    assert {violation.family for violation in found} >= {"placement"}


def test_variable_latency_needs_a_group_of_its_own_and_only_there() -> None:
    problem = ModuloProblem(
        "streams",
        (ModuloUnit("copy", 1),),
        (ModuloOp("load", 1, (Use("copy", 1),), variable_latency=True), ModuloOp("work", 1, (Use("copy", 1),))),
        (ModuloEdge("load", "work", 0, wait=ModuloWait.NEVER),),
        groups=(Group("work", 4, 8), Group("load", 1, 8, variable_latency=True)),
    )
    legal = ModuloSchedule(2, {"load": 0, "work": 1}, {"load": "load", "work": "work"})
    assert verify(problem, legal) == ()
    for swapped in ({"load": "work", "work": "work"}, {"load": "load", "work": "load"}):
        assert verify(problem, replace(legal, groups=swapped))


def test_a_unit_with_two_instances_takes_two_at_once_and_not_three() -> None:
    ops = tuple(ModuloOp(name, 2, (Use("port", 2),)) for name in "abc")
    problem = ModuloProblem("ports", (ModuloUnit("port", 2),), ops, (), max_stages=1)
    assert verify(problem, ModuloSchedule(4, {"a": 0, "b": 0, "c": 2}, {})) == ()
    full = ModuloSchedule(4, {"a": 0, "b": 0, "c": 1}, {})
    assert families_of(problem, full) == ({"units"}, {"units"})


def test_a_schedule_without_every_start_is_no_schedule() -> None:
    (found,) = verify(chain(), ModuloSchedule(3, {"load": 0}, {}))
    assert f"{found.family}/{found.rule}" == "schedule/complete"


@pytest.mark.parametrize("shift", [-1, 1])
def test_every_issue_is_within_the_stages(shift: int) -> None:
    """Three stages of 3 cycles: the chain fills them from the first cycle to the last."""
    problem = chain(capacity=3, stages=3)
    assert verify(problem, GOOD_CHAIN) == ()
    moved = replace(GOOD_CHAIN, starts={op: start + shift for op, start in GOOD_CHAIN.starts.items()})
    assert {f"{v.family}/{v.rule}" for v in verify(problem, moved)} == {"schedule/stages"}


def test_the_replay_counts_registers_itself() -> None:
    (found,) = replay(two_groups(registers=7), GOOD_GROUPS)
    assert f"{found.family}/{found.rule}" == "registers/capacity"


def test_explanations_name_numbers_and_holders() -> None:
    problem = chain(capacity=3)
    reading = ModuloReading(problem, GOOD_CHAIN)
    texts = {family.NAME: [str(fact) for fact in family.explain(problem, reading)] for family in FAMILIES}
    assert texts["memory"] == ["shared: 3 of 3 in use; fullest in cycle 0: load 3"]
    assert texts["units"][1] == "core: 1 of 1 in use; 100.0% busy"
    assert "load -> multiply: 4 of 4 cycles; no slack" in texts["dependence"]
