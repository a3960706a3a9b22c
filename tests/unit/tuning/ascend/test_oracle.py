"""Our capacity rule against Huawei's memory planner on random buffer sets; skipped without the extra ``ascend-oracle``."""

import random
from dataclasses import replace

import pytest

from tests.unit.solver.ascend.kernels import graph_with
from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.domain import Memory
from warpwright.solver.profiles import load_profile
from warpwright.tuning.ascend.oracle import SPACES, TARGETS, Oracle, chip_bytes, find_oracle, hivm, opinion_text

needs_oracle = pytest.mark.skipif(
    find_oracle() is None, reason="Huawei's planner is not installed: pip install 'warpwright[ascend-oracle]' (161 MB)"
)


def test_hivm_keeps_every_buffer_live_to_the_end() -> None:
    text = hivm("ub", [(16384, 2), (100, 1)])
    assert text.count("hivm.hir.load") == 4
    assert "annotation.mark %b0 {hivm.multi_buffer = 2 : i32}" in text
    assert "annotation.mark %b1" not in text


def test_without_the_tools_the_certificate_says_nothing() -> None:
    graph = graph_with({"a": (Memory.UB, 100)})
    assert opinion_text(None, graph, load_profile("ascend950"), {"a": 2}) == ""


@needs_oracle
@pytest.mark.parametrize("name", sorted(TARGETS))
def test_the_rule_agrees_with_the_vendors_planner(name: str) -> None:
    oracle = find_oracle()
    assert oracle is not None
    agreed, total = compare(oracle, name, seeds=range(20))
    assert agreed == total


@needs_oracle
def test_agreement_is_stored_with_the_certificate_text() -> None:
    profile = load_profile("ascend910b")
    graph = graph_with({"a": (Memory.UB, 65536), "b": (Memory.UB, 65536)})
    text = opinion_text(find_oracle(), graph, profile, {"a": 2, "b": 2})
    assert text == (
        "bishengir-opt, Ascend910B1: ub agrees (262144 of 196608 bytes; 262144 bytes needed, 196608 available)"
    )


def compare(oracle: Oracle, name: str, seeds: range) -> tuple[int, int]:
    """Random buffer sets near the limit of each memory: how many verdicts (and overflow sizes) are the same."""
    profile = load_profile(name)
    agreed = total = 0
    for seed in seeds:
        for memory in SPACES:
            rng = random.Random(f"{name} {memory} {seed}")
            limit = chip_bytes(profile, memory)
            count = rng.randint(1, 5)
            sizes = {f"b{i}": (memory, rng.randint(1, limit // count)) for i in range(count)}
            if seed % 4 == 0:
                sizes["b0"] = (
                    memory,
                    max(1, limit - sum(size for _, size in list(sizes.values())[1:]) - rng.randint(-64, 64)),
                )
            versions = {f"b{i}": rng.randint(1, 3) for i in range(count)}
            graph = replace(graph_with(sizes), simt=False)
            (use,) = [u for u in kernel_capacity.uses(graph, profile, versions) if u.memory is memory]
            opinion = oracle.plan(memory, [(sizes[n][1], versions[n]) for n in sizes], name)
            total += 1
            agreed += opinion.fits == (use.needed_bytes <= limit) and opinion.needed_bytes in (None, use.needed_bytes)
    return agreed, total
