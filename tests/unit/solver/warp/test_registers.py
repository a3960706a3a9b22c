"""The register rules, each number traced to a public failure report or to ptxas."""

import pytest

from tests import kernels
from warpwright.solver.device.liveness import peak_registers
from warpwright.solver.device.registers import budgets, instruction_floor
from warpwright.solver.device.wgmma import Partition, instruction_registers, is_wgmma, partition
from warpwright.solver.domain.kernel import GemmShape, KernelGraph, Memory
from warpwright.solver.domain.schedule import OpRef, Role, RoleBody, ScopeProgram, WarpSchedule
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.families.register_need import check as check_need
from warpwright.solver.warp.families.register_pool import check as check_pool
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.registers import entry_of
from warpwright.solver.warp.schedule_reader import Reading

H200 = load_profile("h200")
ROOT = "tl.ws_scope_root"


def block(*roles: Role, warps: int = 0) -> WarpSchedule:
    """A schedule that is judged for its registers only."""
    last = max(role.warps_hi for role in roles)
    bodies = tuple(RoleBody(role.name, (OpRef("clear"),)) for role in roles)
    return WarpSchedule(warps or -(-last // 4) * 4, roles, (), (ScopeProgram(ROOT, bodies),))


def whole(schedule: WarpSchedule) -> WarpSchedule:
    """The same roles with the product in the consumer's body."""
    bodies = (RoleBody("consumer", (OpRef("k"),)),)
    loop = ScopeProgram("k", (RoleBody("consumer", (OpRef("mma"),)),))
    return WarpSchedule(schedule.num_warps, schedule.roles, (), (ScopeProgram(ROOT, bodies), loop))


def pool_rules(*roles: Role, warps: int = 0, graph: KernelGraph | None = None) -> set[str]:
    problem = close_problem(graph or kernels.gemm(), H200)
    return {violation.rule for violation in check_pool(Reading(problem, block(*roles, warps=warps)))}


@pytest.mark.parametrize(
    ("producers", "consumers", "small", "large", "fits"),
    [
        (1, 2, 24, 240, True),  # 64,512 registers, known good (TileLang annotate_warp_group_reg_alloc.cc)
        (2, 2, 24, 240, False),  # 67,584: hung on the device (TileLang pull 2406)
        (2, 2, 24, 224, True),  # 63,488, known good
        (1, 3, 24, 160, True),  # 64,512, known good
        (1, 3, 32, 160, True),
        (1, 2, 24, 232, True),  # below the pool (CUTLASS issue 2007)
        (1, 2, 24, 248, False),
        (1, 2, 40, 240, False),
    ],
)
def test_budgets_come_out_of_the_launch(producers: int, consumers: int, small: int, large: int, fits: bool) -> None:
    first = Role("consumer", 0, 4 * consumers, large)
    second = Role("load", 4 * consumers, 4 * (consumers + producers), small)
    assert ("pool-exceeded" in pool_rules(first, second)) is not fits


def test_three_budgets_that_pass_by_luck_are_refused() -> None:
    """232/232/96 is 71,680 registers: the compiler dropped the requests and hid it (TIRx-kernels pull 165)."""
    roles = (Role("one", 0, 4, 232), Role("two", 4, 8, 232), Role("three", 8, 12, 96))
    assert "pool-exceeded" in pool_rules(*roles)


@pytest.mark.parametrize("value", [0, 16, 23, 24, 25, 32, 240, 256, 264])
def test_only_multiples_of_eight_in_range(value: int) -> None:
    """Padding warps that asked for 16 did not compile (Triton pull 11287)."""
    legal = value == 0 or (24 <= value <= 256 and value % 8 == 0)
    assert ("budget-value" in pool_rules(Role("load", 0, 4, value))) is not legal


def test_idle_warps_and_warpgroups_are_counted() -> None:
    roles = (Role("consumer", 0, 8, 240), Role("load", 8, 9, 24))
    assert budgets(roles, 12) == (240, 240, 24)
    assert budgets(roles, 16) == (240, 240, 24, 24)
    assert "pool-exceeded" in pool_rules(*roles, warps=16)


def test_one_budget_a_warpgroup() -> None:
    roles = (Role("consumer", 0, 8, 240), Role("load", 8, 9, 24), Role("store", 9, 10, 40))
    assert "one-budget-a-warpgroup" in pool_rules(*roles)


def test_zero_beside_positive_is_refused() -> None:
    assert pool_rules(Role("consumer", 0, 8, 0), Role("load", 8, 9, 40)) == {"zero-and-positive"}


@pytest.mark.parametrize(("warps", "entry"), [(4, 255), (8, 255), (12, 168), (16, 128), (20, 96), (32, 64)])
def test_launch_registers_follow_the_thread_count(warps: int, entry: int) -> None:
    problem = close_problem(kernels.gemm(), H200)
    assert entry_of(Reading(problem, block(Role("all", 0, warps, 0)))) == entry


def test_launch_registers_never_exceed_the_largest_budget() -> None:
    """256 threads with a consumer of 128 were launched with 128 (ptxas 13.0.88)."""
    problem = close_problem(kernels.gemm(), H200)
    roles = (Role("consumer", 0, 4, 128), Role("load", 4, 8, 24))
    assert entry_of(Reading(problem, block(*roles))) == 128


def shape(m: int, n: int, policy: str = "square", *, changes: dict[str, object] | None = None) -> GemmShape:
    fields: dict[str, object] = {"a_dtype": "bfloat16", "b_memory": Memory.SHARED, "k": 64, **(changes or {})}
    return GemmShape(
        m,
        n,
        int(str(fields["k"])),
        str(fields["a_dtype"]),
        "float32",
        Memory.SHARED,
        Memory.SHARED if fields["b_memory"] == Memory.SHARED else Memory.FRAGMENT,
        Memory.FRAGMENT,
        bool(fields.get("transpose_a")),
        bool(fields.get("transpose_b")),
        policy,
    )


@pytest.mark.parametrize(("n", "registers"), [(256, 154), (128, 90), (512, 154)])
def test_one_instruction_needs_what_ptxas_says(n: int, registers: int) -> None:
    assert instruction_registers(shape(128, n, "fullrow"), 8) == registers


def test_four_warpgroups_cannot_launch_a_wide_instruction() -> None:
    """512 threads are launched with 128 registers, N = 256 needs 154 (CUTLASS issue 2904); 384 threads get 168."""
    graph = kernels.gemm(192, 256, threads=384, policy="fullrow")
    assert instruction_floor([op for op in graph.ops if op.gemm], 12) == 154
    problem = close_problem(graph, H200)
    wide = block(Role("consumer", 0, 12, 160), Role("load", 12, 13, 24))
    assert entry_of(Reading(problem, wide)) == 128
    assert "launch-floor" in {v.rule for v in check_need(Reading(problem, whole(wide)))}


@pytest.mark.parametrize(
    ("m", "n", "warps", "policy", "expected"),
    [
        (128, 256, 8, "square", Partition(4, 2)),
        (256, 128, 8, "square", Partition(4, 2)),
        (128, 256, 8, "fullrow", Partition(8, 1)),
        (128, 256, 8, "full_col", Partition(4, 2)),
        (64, 256, 8, "fullrow", Partition(4, 2)),
        (192, 128, 12, "fullrow", Partition(12, 1)),
        (128, 128, 12, "square", None),
        (128, 256, 6, "square", None),
        (100, 256, 4, "square", None),
    ],
)
def test_tiles_are_split_as_tilelang_splits_them(
    m: int, n: int, warps: int, policy: str, expected: Partition | None
) -> None:
    assert partition(shape(m, n, policy), warps) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"k": 24}, False),
        ({"b_memory": Memory.FRAGMENT}, False),
        ({"a_dtype": "float32"}, False),
        ({"a_dtype": "float8_e4m3fn", "transpose_b": True}, True),
        ({"a_dtype": "float8_e4m3fn", "transpose_b": False}, False),
        ({"a_dtype": "int8", "transpose_b": True, "k": 32}, True),
        ({"a_dtype": "tfloat32", "transpose_b": True, "k": 8}, True),
    ],
)
def test_which_products_are_warpgroup_products(changes: dict[str, object], expected: bool) -> None:
    assert is_wgmma(shape(128, 128, changes=changes)) is expected


def test_scores_are_dead_once_they_are_cast() -> None:
    """192 x 128 attention on three warpgroups runs at 160 registers; a count of all fragments would ask for more."""
    problem = close_problem(kernels.attention(192, 128, threads=384), H200)
    program = [op for op in problem.source.below(ROOT) if op.id not in ("copy_q", "copy_k", "copy_v", "store_o")]
    peak = peak_registers(problem.source, program, 12, {}, frozenset())
    assert dict(peak.holders)["acc"] == dict(peak.holders)["scores"] == 64
    assert peak.registers < 144
    overlapped = peak_registers(problem.source, program, 12, {}, frozenset({"k"}))
    assert overlapped.registers > 160
