"""A stored schedule answers for the same kernel under other names, and for no other kernel."""

import json
from collections.abc import Callable

import pytest

from tests.integration.lowering.materialize.schedules import GEMM
from warpwright.lowering.frontend.irhash import ir_hash
from warpwright.lowering.frontend.rename import renamed
from warpwright.solver.domain import GraphError, KernelGraph, dump, load
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.verify import violations
from warpwright.tuning.children import ChildPool, Limits, Returned

LIMITS = Limits(wall_seconds=120)


def with_other_names(ir: str) -> str:
    """The same kernel with every buffer, loop and function renamed."""
    document = json.loads(ir)
    names = {"As", "Bs", "Cs", "acc", "bias_local", "A", "B", "C", "bias", "k", "bx", "by", "gemm_bias_relu"}
    for node in document["nodes"]:
        if node["type"] == "ffi.String" and node["data"] in names:
            node["data"] = f"{node['data']}_renamed"
    return json.dumps(document)


def test_a_schedule_follows_its_kernel_to_other_names(
    pool: ChildPool, corpus_ir: Callable[[str], str], read_graph: Callable[[str], KernelGraph]
) -> None:
    """bug_cases.md 23: one key for a kernel and its renamed twin, so what is stored under it must fit both."""
    ir = corpus_ir("example_gemm_0")
    twin = with_other_names(ir)
    assert ir_hash(ir) == ir_hash(twin)
    profile = load_profile("h200")
    reply = pool.run("frontend.read", {"ir": twin, "profile": dump(profile)}, LIMITS)
    assert isinstance(reply, Returned), reply
    graph, other = read_graph("example_gemm_0"), load(KernelGraph, reply.value["graph"])
    assert other.ops[0].id == "fill_acc_renamed"
    moved = renamed(GEMM, graph, other)
    assert violations(close_problem(other, profile), moved) == ()
    assert renamed(moved, other, graph) == GEMM
    taken = pool.run("materialize.warp", {"ir": twin, "schedule": dump(moved)}, LIMITS)
    assert isinstance(taken, Returned), taken


def test_another_kernel_is_refused(read_graph: Callable[[str], KernelGraph]) -> None:
    with pytest.raises(GraphError) as caught:
        renamed(GEMM, read_graph("example_gemm_0"), read_graph("example_gemm_1"))
    assert caught.value.code == "kernels-differ"


def test_two_sizes_have_two_hashes(corpus_ir: Callable[[str], str]) -> None:
    """bug_cases.md 22."""
    hashes = {ir_hash(corpus_ir(f"example_gemm_{number}")) for number in range(12)}
    assert len(hashes) == 12
