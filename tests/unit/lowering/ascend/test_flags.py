"""Event flags of generated Ascend C are played: unmatched waits and leftovers are found (bug case 19)."""

import pytest

from warpwright.lowering.ascend.flags import flag_faults

PRIMED = """
extern "C" __global__ __mix__(1, 2) void k(__gm__ float* A) {
  if ASC_IS_AIC {
    asc_sync_notify(PIPE_M, PIPE_MTE2, static_cast<event_t>(0));
    asc_sync_notify(PIPE_M, PIPE_MTE2, static_cast<event_t>(1));
    for (int32_t w = 0; w < 4; ++w) {
      for (int32_t k = 0; k < 16; ++k) {
        asc_sync_wait(PIPE_M, PIPE_MTE2, static_cast<event_t>((k & 1)));
        asc_copy(((k & 1) * 32768));
        asc_sync_notify(PIPE_MTE2, PIPE_M, static_cast<event_t>((k & 1)));
        asc_sync_wait(PIPE_MTE2, PIPE_M, static_cast<event_t>((k & 1)));
        asc_sync_notify(PIPE_M, PIPE_MTE2, static_cast<event_t>((k & 1)));
        if (k == 15) {
          asc_sync_notify(PIPE_M, PIPE_FIX, static_cast<event_t>(0));
        }
      }
      asc_sync_wait(PIPE_M, PIPE_FIX, static_cast<event_t>(0));
    }
    asc_sync_wait(PIPE_M, PIPE_MTE2, static_cast<event_t>(0));
    asc_sync_wait(PIPE_M, PIPE_MTE2, static_cast<event_t>(1));
  }
}
"""


def test_a_primed_and_drained_loop_is_right() -> None:
    assert flag_faults(PRIMED) == ()


def test_a_wait_of_the_first_iteration_without_a_set_is_found() -> None:
    lines = PRIMED.splitlines()
    del lines[4]
    faults = flag_faults("\n".join(lines))
    assert faults is not None
    assert "PIPE_M to PIPE_MTE2, flag 0: a wait has no set before it" in faults or (
        "PIPE_M to PIPE_MTE2, flag 1: a wait has no set before it" in faults
    )


def test_a_leftover_after_the_last_iteration_is_found() -> None:
    lines = [
        line for line in PRIMED.splitlines() if "PIPE_MTE2, static_cast<event_t>(1)" not in line or "notify" in line
    ]
    assert flag_faults("\n".join(lines)) == ("PIPE_M to PIPE_MTE2, flag 1: 1 set but never waited for",)


@pytest.mark.parametrize("line", ["while (x) {", "for (int32_t k = 0; k < n; ++k) {"])
def test_unknown_control_flow_around_flags_is_not_judged(line: str) -> None:
    assert flag_faults(PRIMED.replace("for (int32_t w = 0; w < 4; ++w) {", line)) is None
