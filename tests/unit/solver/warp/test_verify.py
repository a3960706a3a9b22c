"""What the solver answers is legal, and stays so or not by changes that no single rule's boundary shows.

Each rule with both of its sides stands in ``families/``.
"""

from functools import cache

import pytest

from tests import kernels
from tests.unit.solver.families.kernels import rings
from tests.unit.solver.families.situations import Situation
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.pins import Pins, PipelinePin
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import verify

H200 = load_profile("h200")


@cache
def solved(name: str, pins: Pins | None = None) -> Situation:
    problem = close_problem(getattr(kernels, name)(), H200, pins)
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    return Situation(problem, verdict.schedule)


@pytest.mark.parametrize("name", ["gemm", "attention", "persistent_gemm", "two_gemms"])
def test_what_the_solver_says_is_legal(name: str) -> None:
    assert solved(name).codes() == set()


def test_a_graph_and_a_profile_are_verified_as_a_closed_problem_is() -> None:
    graph: KernelGraph = kernels.gemm()
    schedule = solved("gemm").pipeline("as_bs", depth=4).schedule
    assert [violation.rule for violation in verify(graph, H200, schedule)] == ["over-capacity"]
    assert [violation.rule for violation in verify(graph, load_profile("a100"), schedule)] == ["needs-tma"]


def test_when_it_is_no_schedule_of_the_kernel_nothing_else_is_said() -> None:
    """One role does nothing in a block that is much too large: the ranges are not looked at."""
    assert solved("gemm").warps(36).body("tl.ws_scope_root", "load").codes() <= {
        "placement/empty-root-body",
        "placement/never-entered",
    }


SOFTMAX = ("keep_max", "new_max", "factor", "exponent", "sum", "total")
QK = ("clear_scores", "wait:ks", "qk", "release:ks")


def attention(*words: str) -> set[str]:
    """Rules that solved attention breaks with another loop body of its consumer."""
    return solved("attention").body("k", "consumer", *words).codes()


def test_source_order_may_not_be_turned_around() -> None:
    broken = attention(*QK, *SOFTMAX, "scale", "wait:vs", "pv", "release:vs", "cast")
    assert broken == {"body_order/order-breaks-dependence"}
    assert attention(*QK, *SOFTMAX, "cast", "scale", "wait:vs", "pv", "release:vs") == set()


@pytest.mark.parametrize(("stage", "depth", "ends"), [(2, 2, False), (1, 2, True), (2, 3, True), (1, 1, False)])
def test_a_producer_that_runs_ahead_needs_the_depth_for_it(stage: int, depth: int, ends: bool) -> None:
    """Rule book 1.7: filling one ring at stage 0 and one at stage s, with a consumer that holds both, needs s + 1 versions."""
    late = (f"acquire:bs@{stage}", "copy_b", f"commit:bs@{stage}")
    situation = rings().pipeline("as", depth=depth).pipeline("bs", depth=depth)
    found = situation.body("k", "load", "acquire:as", "copy_a", "commit:as", *late).codes()
    assert found == (set() if ends else {"deadlock/waits-for-ever"})


def test_loads_in_another_order_than_their_waits_are_no_deadlock_while_versions_last() -> None:
    swapped = ("acquire:vs", "copy_v", "commit:vs", "acquire:ks", "copy_k", "commit:ks")
    assert solved("attention").body("k", "load", *swapped).codes() == set()


def in_pairs(*words: str) -> set[str]:
    """Rules that another consumer body of the product in pairs breaks."""
    pins = Pins(pipelines=(PipelinePin(("As", "Bs")), PipelinePin(("At", "Bt"))))
    return {code.partition("/")[2] for code in solved("gemm_in_pairs", pins).body("k", "consumer", *words).codes()}


def test_a_wait_that_leaves_a_product_in_flight_ends_only_those_before_it() -> None:
    begun = ("wait:as_bs", "even", "wait:at_bt", "odd")
    assert in_pairs(*begun, "even_done", "release:as_bs", "odd_done", "release:at_bt") == set()
    assert in_pairs(*begun, "even_done", "release:as_bs", "release:at_bt", "odd_done") == {"release-without-wait"}
    early = ("wait:as_bs", "even", "even_done", "release:as_bs", "wait:at_bt", "odd", "odd_done", "release:at_bt")
    assert in_pairs(*early) == {"release-without-wait", "order-breaks-dependence"}
