"""Event flags are a soft limit: one more than there are ids is a note, never a violation."""

from dataclasses import replace

import pytest

from tests.unit.solver.ascend.families.boundaries import ring
from warpwright.solver.ascend.families.event_flags import FLAGS_PER_PAIR, needed, notes
from warpwright.solver.ascend.problem import LoopProblem


@pytest.mark.parametrize(("count", "told"), [(FLAGS_PER_PAIR, 0), (FLAGS_PER_PAIR + 1, 2)])
def test_one_flag_too_many_is_told_for_both_directions(count: int, told: int) -> None:
    situation = ring(limit=64 * count, count=count)
    assert isinstance(situation.problem, LoopProblem)
    problem = replace(situation.problem, num_stages=count)
    assert needed(problem, situation.answer) == {("cube", "mte2"): count, ("mte2", "cube"): count}
    assert len(notes(problem, situation.answer)) == told
    assert replace(situation, problem=problem).codes() == set()
