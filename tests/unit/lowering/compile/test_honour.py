"""Reading the plan back from CUDA source, and what counts as a plan that was not honoured."""

from dataclasses import replace

import pytest

from warpwright.lowering.compile import PtxasMessage, PtxasReport
from warpwright.lowering.compile.honour import differences
from warpwright.lowering.compile.readback import read_back
from warpwright.lowering.compile.thread_ranges import Range
from warpwright.solver.domain import Pipeline, Role, WarpSchedule

PLAN = WarpSchedule(
    num_warps=12,
    roles=(Role("consumer", 0, 8, 240), Role("load", 8, 9, 24)),
    pipelines=(Pipeline("a_b", ("As", "Bs"), 3),),
    scopes=(),
)

SOURCE = """
extern "C" __global__ void __launch_bounds__(384, 1) k(...) {
  __shared__ __align__(16) uint64_t a_b_full_mem[3];
  __shared__ __align__(16) uint64_t a_b_empty_mem[3];
  if (((int)threadIdx.x) < 256) {
    tl::warpgroup_reg_alloc<240>();
  } else {
    if (((int)threadIdx.x) < 288) {
      tl::warpgroup_reg_dealloc<24>();
    } else {
      tl::warpgroup_reg_dealloc<24>();
    }
  }
}
"""


def test_the_source_is_read_back() -> None:
    found = read_back(SOURCE)
    assert (found.threads, found.min_blocks) == (384, 1)
    assert found.depths == found.empty_depths == {"a_b": 3}
    asked = [(each.direction, each.registers, each.threads) for each in found.register_requests]
    assert asked == [("alloc", 240, Range(0, 256)), ("dealloc", 24, Range(256, 288)), ("dealloc", 24, Range(288, 384))]
    assert found.branch_threads == (256, 288)


def test_a_plan_that_is_all_there_has_no_differences() -> None:
    assert differences(PLAN, read_back(SOURCE), None) == ()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("(384, 1)", "(256, 1)", "launch bounds"),
        ("(384, 1)", "(384)", "launch bounds"),
        ("full_mem[3]", "full_mem[2]", "full barriers of pipeline a_b"),
        ("uint64_t a_b_empty_mem[3];", "", "empty barriers of pipeline a_b"),
        ("alloc<240>", "alloc<232>", "setmaxnreg requests of 240 registers"),
        ("< 288", "< 320", "role branches"),
    ],
)
def test_each_number_that_differs_is_named(old: str, new: str, what: str) -> None:
    gaps = differences(PLAN, read_back(SOURCE.replace(old, new)), None)
    assert what in [gap.what for gap in gaps]


def test_a_schedule_that_was_ignored_shows_in_everything() -> None:
    """TileLang drops the schedule without a word on targets without TMA (tests of the rule book, 1.1)."""
    plain = read_back('extern "C" __global__ void __launch_bounds__(128, 1) k(...) { }')
    assert len(differences(PLAN, plain, None)) >= 4


def test_a_request_that_the_assembler_dropped_is_not_credited() -> None:
    report = PtxasReport(154, 0, 0, 0, 4, 1024, (PtxasMessage("C7508", "setmaxnreg ignored"),))
    assert [gap.what for gap in differences(PLAN, read_back(SOURCE), report)] == ["register requests"]
    silent = replace(PLAN, roles=(Role("consumer", 0, 8, 0), Role("load", 8, 9, 0)))
    source = SOURCE.replace("tl::warpgroup_reg_alloc<240>();", "").replace("tl::warpgroup_reg_dealloc<24>();", "")
    assert differences(silent, read_back(source), report) == ()
