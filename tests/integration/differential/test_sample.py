"""A sample of the comparison with TileLang's materialiser; the whole is ``make differential``, its report in docs/results."""

import pytest

from benchmarks.differential.compare import KERNEL_NAMES, Outcome, Tally, TileLang, compare, prepare
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool

EACH = 34


@pytest.fixture(scope="module")
def outcomes(pool: ChildPool) -> dict[str, list[Outcome]]:
    tilelang, profile = TileLang(), load_profile("h200")
    found = {}
    try:
        for name in KERNEL_NAMES:
            case = prepare(pool, tilelang, name, profile)
            found[name] = list(compare(case, tilelang, EACH, seed=4))
    finally:
        tilelang.close()
    return found


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_tilelang_takes_what_the_solver_found(kernel: str, outcomes: dict[str, list[Outcome]]) -> None:
    first = outcomes[kernel][0]
    assert (first.rules, first.refusal) == ((), None)


@pytest.mark.parametrize("kernel", KERNEL_NAMES)
def test_nothing_that_we_accept_is_refused_by_tilelang(kernel: str, outcomes: dict[str, list[Outcome]]) -> None:
    laxer = [outcome for outcome in outcomes[kernel] if not outcome.rules and outcome.refusal is not None]
    assert not laxer, (laxer[0].refusal, laxer[0].schedule)


def test_every_refusal_of_ours_names_its_rule_and_the_sample_meets_every_kind(
    outcomes: dict[str, list[Outcome]],
) -> None:
    tally = Tally()
    for outcome in (outcome for group in outcomes.values() for outcome in group):
        tally.add(outcome)
    assert not tally.nameless
    assert tally.both_accept > 15
    assert tally.both_refuse > 50
    assert sum(tally.stricter.values()) > 15
    assert len(tally.refusals) > 10
