"""Any pins document: refused with a code and a place, or answered; never an exception, never "infeasible" without a reason."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import kernels
from warpwright.solver.domain import Infeasible, PinError
from warpwright.solver.engines import Budget
from warpwright.solver.profiles import load_profile
from warpwright.solver.profiles.pin_domains import domain_of, load_pins
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.solve import solve

H200, ASCEND = load_profile("h200"), load_profile("ascend950")
GRAPH = kernels.gemm()
NUMBERS = st.sampled_from([-(2**40), -8, -1, 0, 1, 2, 3, 4, 8, 9, 23, 24, 32, 156, 240, 256, 264, 2**40, 2**70])
BUFFERS = st.sampled_from(["As", "Bs", "Cs", "nothing"])
OPS = st.sampled_from([*(op.id for op in GRAPH.ops), "nothing"])
ROLES = st.sampled_from(["load", "consumer", "store", "mma", "nobody"])


def entries(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.fixed_dictionaries(parts), min_size=1, max_size=2)


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "roles": st.lists(
        st.fixed_dictionaries(
            {"role": ROLES}, optional={"warps_lo": NUMBERS, "warps_hi": NUMBERS, "registers_per_thread": NUMBERS}
        ),
        min_size=1,
        max_size=2,
    ),
    "placements": entries(op=OPS, role=ROLES),
    "pipelines": st.lists(st.fixed_dictionaries({"buffers": st.lists(BUFFERS, max_size=3)}), min_size=1, max_size=2),
    "depths": entries(buffer=BUFFERS, depth=NUMBERS),
    "stages": entries(op=OPS, stage=NUMBERS.filter(lambda value: not 4 < value < 15_000)),
    "buffers": entries(buffer=BUFFERS, versions=NUMBERS),
    "unlimited_memories": st.lists(st.sampled_from(["shared", "L1"]), min_size=1, max_size=2),
    "consumer_warpgroups": NUMBERS,
    "store_role": st.booleans(),
    "merged_pipelines": st.booleans(),
    "software_pipelining": st.booleans(),
}


def problem_or_refusal(document: dict[str, Any]) -> WarpProblem | PinError:
    """The closed problem under these pins, or their refusal; any other exception is a fault."""
    try:
        return close_problem(GRAPH, H200, load_pins(document, H200, "/pins"))
    except PinError as error:
        return error


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_refused_or_answered(field: str) -> None:
    @settings(max_examples=12, deadline=None, derandomize=True)
    @given(FIELDS[field])
    def each(value: Any) -> None:
        closed = problem_or_refusal({"schema": "warpwright.pins/1", field: value})
        if isinstance(closed, PinError):
            assert closed.place
            return
        verdict = solve(closed, budget=Budget(work_limit=2_000, wall_seconds=20.0))
        if isinstance(verdict, Infeasible):
            # A placement moves work between roles before the search; the rule that it breaks there is then the reason.
            assert all(conflict.message for conflict in verdict.conflicts)
            assert field == "placements" or any(each.family.startswith("pin") for each in verdict.conflicts)

    each()


@pytest.mark.parametrize(
    ("field", "legal", "illegal"),
    [
        ("consumer_warpgroups", (1, 8), (0, 9)),
        ("warps_lo", (0, 31), (-1, 32)),
        ("warps_hi", (1, 32), (0, 33)),
        ("registers_per_thread", (0, 24, 32, 256), (-8, 8, 23, 25, 264)),
        ("depth", (1, 14_528), (0, 14_529)),
        ("stage", (0, 14_527), (-1, 14_528)),
    ],
)
def test_the_domain_ends_where_the_device_does(field: str, legal: tuple[int, ...], illegal: tuple[int, ...]) -> None:
    domain = domain_of(field, H200)
    assert all(domain.holds(value) for value in legal)
    assert not any(domain.holds(value) for value in illegal)


def test_versions_end_where_the_largest_memory_does() -> None:
    domain = domain_of("versions", ASCEND)
    assert domain.holds(1)
    assert domain.holds(524_288 // 32)
    assert not domain.holds(524_288 // 32 + 1)


def test_a_device_without_setmaxnreg_takes_no_budget() -> None:
    domain = domain_of("registers_per_thread", load_profile("rtx4090"))
    assert domain.holds(0)
    assert not domain.holds(24)
