"""Kernels of every kind become graphs whose parts fit together, or are refused with the code of what stands in the way."""

from collections.abc import Callable

import pytest

from tests.integration.lowering.frontend.corpus_names import EXAMPLES, fitting, not_buildable, not_fitting
from warpwright.solver.domain import ROOT, Hazard, Issue, KernelGraph, Memory, OpKind, ScopeKind, Unit
from warpwright.tuning.children import ChildPool, Limits, Refused, Reply, Returned

LIMITS = Limits(wall_seconds=120)
ReadGraph = Callable[[str], KernelGraph]


def edges(graph: KernelGraph, buffer: str) -> set[tuple[str, str, str, int]]:
    """Dependences through one buffer: source, target, hazard, distance."""
    return {(d.source, d.target, d.hazard.value, d.distance) for d in graph.dependences if d.buffer == buffer}


@pytest.mark.parametrize("name", [*fitting(), *EXAMPLES])
def test_every_part_of_a_graph_fits_the_others(name: str, read_graph: ReadGraph) -> None:
    graph = read_graph(name)
    ids = [op.id for op in graph.ops] + [scope.id for scope in graph.scopes]
    assert len(ids) == len(set(ids))
    assert graph.scopes[0].id == ROOT
    placed = [item for scope in graph.scopes for item in scope.items]
    assert sorted(placed) == sorted(i for i in ids if i != ROOT)
    buffers = {buffer.name for buffer in graph.buffers}
    for op in graph.ops:
        assert op.id in graph.scope(op.scope).items
        assert {access.buffer for access in (*op.reads, *op.writes)} <= buffers
        assert all(use.cycles > 0 for use in op.uses)
        assert op.latency_cycles >= max((use.cycles for use in op.uses), default=0)
        assert op.kind is not OpKind.OPAQUE, op.text
    for dependence in graph.dependences:
        items = graph.scope(dependence.scope).items
        assert dependence.source in items
        assert dependence.target in items
        assert dependence.distance == 0 or dependence.scope != ROOT
        if dependence.distance == 0:
            assert items.index(dependence.source) < items.index(dependence.target)
    bound = {op.binds for op in graph.ops if op.binds}
    used = {name for op in graph.ops for name in op.uses_scalars} | {n for s in graph.scopes for n in s.uses_scalars}
    assert used <= bound


@pytest.mark.parametrize(("name", "code"), not_fitting().items())
def test_what_no_schedule_can_express_is_refused_with_its_code(
    name: str, code: str, read: Callable[[str], Reply]
) -> None:
    reply = read(name)
    assert isinstance(reply, Refused), reply
    assert reply.code == code
    assert reply.place
    kind = "ForeignCode" if code.startswith("foreign") else "NotApplicable"
    assert reply.error == ("DocumentError" if code == "extent-not-positive" else kind)


@pytest.mark.parametrize(("name", "code"), not_buildable().items())
def test_what_cannot_be_built_is_refused_by_reading_and_by_the_build_in_the_same_words(
    name: str, code: str, read: Callable[[str], Reply], pool: ChildPool, corpus_ir: Callable[[str], str]
) -> None:
    reply = read(name)
    assert isinstance(reply, Refused), reply
    assert (reply.error, reply.code) == ("NotBuildable", code)
    payload = {"ir": corpus_ir(name), "arch": "sm_90a", "variant": "default", "schedule": None, "source_only": True}
    built = pool.run("compile.cuda", payload, LIMITS)
    if isinstance(built, Returned):  # it looks at the arguments only, and then finds two kernels in what it lowered
        assert (code, built.value["outcome"]["kind"]) == ("several-kernels", "compile_failed")
    else:
        assert isinstance(built, Refused), built
        assert (built.code, built.message) == (reply.code, reply.message)


def test_the_gemm_of_the_examples(read_graph: ReadGraph) -> None:
    graph = read_graph("example_gemm_0")
    assert graph.grid == (16, 32)
    assert graph.threads == 256
    assert graph.swizzle
    assert graph.flops == 2 * 4096**3
    loop = graph.scope("k")
    assert (loop.kind, loop.trips, loop.num_stages, loop.items) == (
        ScopeKind.SERIAL,
        64,
        3,
        ("copy_As", "copy_Bs", "gemm_acc"),
    )
    gemm = graph.op("gemm_acc")
    assert gemm.gemm is not None
    assert (gemm.gemm.m, gemm.gemm.n, gemm.gemm.k, gemm.gemm.transpose_b) == (128, 256, 64, True)
    assert gemm.uses[0].unit is Unit.TENSOR_CORE
    assert gemm.uses[0].cycles == 128 * 256 * 64 // 2048
    assert graph.op("copy_As").kind is OpKind.TMA_LOAD
    assert graph.op("copy_As").issue is Issue.ASYNCHRONOUS
    assert graph.op("store_C").kind is OpKind.TMA_STORE
    assert graph.op("copy_Cs").through_registers
    assert edges(graph, "As") == {
        ("copy_As", "gemm_acc", "raw", 0),
        ("copy_As", "copy_As", "waw", 1),
        ("gemm_acc", "copy_As", "war", 1),
    }
    assert ("gemm_acc", "gemm_acc", "raw", 1) in edges(graph, "acc")
    assert ("fill_acc", "k", "raw", 0) in edges(graph, "acc")
    assert ("k", "compute_acc", "raw", 0) in edges(graph, "acc")
    assert not edges(graph, "A")


def test_the_attention_of_the_examples(read_graph: ReadGraph) -> None:
    graph = read_graph("example_attention_0")
    exponentials = graph.op("compute_scores")
    assert {use.unit: use.cycles for use in exponentials.uses}[Unit.SFU] == 128 * 128 // 16
    softmax = graph.op("reduce_row_max")
    assert {access.buffer for access in softmax.reads} == {"scores", "row_max"}, "clear=False reads what was there"
    assert ("copy_probs", "gemm_acc", "raw", 0) in edges(graph, "probs")
    assert ("gemm_acc", "copy_probs", "war", 1) in edges(graph, "probs")
    assert ("copy_row_max_prev", "reduce_row_max", "war", 0) in edges(graph, "row_max")
    assert ("reduce_row_max", "copy_row_max_prev", "raw", 1) in edges(graph, "row_max")
    # The product clears its accumulator, so nothing of the last iteration is read.
    assert not any(hazard == "raw" and distance == 1 for _, _, hazard, distance in edges(graph, "scores"))
    assert graph.op("gemm_acc").gemm is not None
    fragment = graph.op("gemm_acc").gemm
    assert fragment is not None
    assert fragment.a_memory is Memory.FRAGMENT
    assert graph.flops == 2 * 2 * 4 * 16 * 8192 * 8192 * 128


def test_registers_are_those_of_the_inferred_layouts(read_graph: ReadGraph) -> None:
    gemm, norm = read_graph("example_gemm_0"), read_graph("layernorm")
    assert gemm.buffer("acc").registers_per_block == 128 * 256
    # Eight warps in two columns: a thread holds 32 of a column half's 128 values, two to a register.
    assert gemm.buffer("bias_local").registers_per_block == 256 * 16
    # A row's mean is in every thread.
    assert norm.buffer("mean").registers_per_block == 128 * 16
    assert read_graph("local_variables").buffer("seen").registers_per_block == 128


def test_a_small_load_before_the_loop_is_tied_to_the_epilogue_that_reads_it(read_graph: ReadGraph) -> None:
    """bug_cases.md 5: another role may do the load, so the dependence must be there to carry a barrier."""
    assert ("copy_bias_s", "compute_acc", "raw", 0) in edges(read_graph("early_small_load"), "bias_s")


def test_two_loops_that_share_buffers_depend_on_each_other_and_count_memory_once(read_graph: ReadGraph) -> None:
    """bug_cases.md 10."""
    graph = read_graph("two_loops")
    assert {("k0", "k1", "war", 0), ("k0", "k1", "waw", 0)} <= edges(graph, "As")
    assert ("k0", "k1", "raw", 0) not in edges(graph, "As")
    assert sum(buffer.name == "As" for buffer in graph.buffers) == 1
    assert [graph.scope(loop).num_stages for loop in ("k0", "k1")] == [2, 4]


def test_one_trip_is_known_and_a_count_that_depends_on_the_block_is_not(read_graph: ReadGraph) -> None:
    """bug_cases.md 1: depth can only be held against a known trip count."""
    assert read_graph("one_trip").scope("ko").trips == 1
    assert read_graph("causal_attention").scope("k").trips is None


def test_a_persistent_kernel_names_what_a_role_must_hold_to_walk_along(read_graph: ReadGraph) -> None:
    graph = read_graph("persistent_gemm")
    loop = graph.scope("loop")
    assert loop.kind is ScopeKind.WHILE
    assert loop.reads
    assert all(graph.buffer(name).memory is Memory.LOCAL for name in loop.reads)
    writers = {op.id for op in graph.ops for access in op.writes if access.buffer in loop.reads}
    assert any(op.scope == "loop" for op in graph.ops if op.id in writers)
    assert graph.op("gemm_acc").runs == 64 * 8
    assert graph.flops == 2 * 1024 * 1024 * 512


def test_guards_mark_their_operations_and_never_hide_an_earlier_write(read_graph: ReadGraph) -> None:
    graph = read_graph("guarded_copies")
    assert graph.op("copy_As").guarded
    assert not graph.op("copy_Bs").guarded
    # A guarded copy may be skipped: the product may read what an earlier iteration left.
    assert ("copy_As", "gemm_acc", "raw", 1) in edges(graph, "As")
    assert ("copy_Bs", "gemm_acc", "raw", 1) not in edges(graph, "Bs")


def test_a_guard_around_a_loop_marks_the_loop(read_graph: ReadGraph) -> None:
    graph = read_graph("persistent_for")
    assert graph.scope("ko").guarded
    assert graph.scope("ko").parent == "wave"
    assert "tile" in graph.op("copy_As").uses_scalars
    assert graph.op("bind_tile").binds == "tile"
    assert "tile" in graph.scope("ko").uses_scalars


def test_a_ring_indexed_by_hand_is_apart_in_one_iteration_and_meets_in_the_next(read_graph: ReadGraph) -> None:
    graph = read_graph("ring_by_hand")
    loop = {edge for edge in edges(graph, "As") if edge[0] in graph.scope("ko").items}
    assert ("copy_As_2", "gemm_acc", "raw", 1) in loop


def test_copies_get_the_instruction_that_tilelang_picks(read_graph: ReadGraph) -> None:
    graph = read_graph("cp_async_gemm")
    assert graph.op("copy_As").kind is OpKind.ASYNC_LOAD
    assert graph.op("copy_Bs").kind is OpKind.COPY
    assert graph.op("copy_Bs").through_registers


def test_an_asynchronous_product_does_not_wait_and_its_wait_is_a_statement(read_graph: ReadGraph) -> None:
    graph = read_graph("asynchronous_wgmma")
    product = next(op for op in graph.ops if op.gemm is not None)
    assert product.gemm is not None
    assert not product.gemm.waits
    assert product.issue is Issue.ASYNCHRONOUS
    assert [op.kind for op in graph.ops].count(OpKind.WAIT) == 1


def test_a_wait_says_how_many_products_it_leaves_in_flight(read_graph: ReadGraph) -> None:
    graph = read_graph("products_in_pairs")
    assert [op.pending for op in graph.ops if op.kind is OpKind.WAIT] == [1, 0]


def test_ids_that_the_source_gave_are_kept_and_not_given_twice(read_graph: ReadGraph) -> None:
    graph = read_graph("named_statements")
    assert [op.id for op in graph.ops] == ["copy_As", "copy_As_2", "second", "b", "gemm_acc", "store_C"]
    assert graph.op("copy_As").kind is OpKind.FILL
    assert {scope.id for scope in graph.scopes} == {ROOT, "main_loop"}


def test_a_view_stands_for_its_storage(read_graph: ReadGraph) -> None:
    graph = read_graph("shared_view")
    assert [buffer.name for buffer in graph.buffers if buffer.memory is Memory.SHARED] == ["xs"]
    assert ("copy_xs", "compute_out", "raw", 0) in edges(graph, "xs")


def test_parameters_that_may_overlap_depend_on_each_other(read_graph: ReadGraph) -> None:
    graph = read_graph("annotated_layouts")
    assert any(d.source == "copy_xs" and d.target == "store_Y" and d.hazard is Hazard.WAR for d in graph.dependences)


def test_the_same_document_gives_the_same_graph_whatever_was_read_before(
    read: Callable[[str], Reply], read_graph: ReadGraph
) -> None:
    """bug_cases.md 23."""
    before = read("example_gemm_0")
    for name in fitting():
        read_graph(name)
    after = read("example_gemm_0")
    assert isinstance(before, Returned)
    assert isinstance(after, Returned)
    assert before.value == after.value


def test_rows_that_are_no_multiple_of_16_bytes_go_through_registers(read_graph: ReadGraph) -> None:
    """As TileLang classifies scheduled copies: its one-dimensional bulk copy needs layouts, which are not there yet."""
    graph = read_graph("odd_rows")
    kinds = {access.buffer: op.kind for op in graph.ops for access in op.writes if op.kind is not OpKind.PARALLEL}
    assert {name: kinds[name] for name in ("xs", "narrow", "weights", "whole")} == {
        "xs": OpKind.TMA_LOAD,
        "narrow": OpKind.COPY,
        "weights": OpKind.COPY,
        "whole": OpKind.TMA_LOAD,
    }
