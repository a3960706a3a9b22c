"""Schedules go into the IR so that TileLang takes them, and come out as source that builds the same kernel."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lowering.frontend.corpus_names import EXAMPLES, fitting
from tests.integration.lowering.materialize.schedules import (
    ATTENTION,
    ATTENTION_PIPELINED,
    GEMM,
    PERSISTENT,
    body,
    one_role,
    program,
)
from warpwright.solver.domain import ROOT, Feasible, KernelGraph, Pipeline, ProvenOptimal, WarpSchedule, dump
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve
from warpwright.tuning.children import ChildPool, Limits, Refused, Returned

CHILD = Path(__file__).with_name("lowering_child.py")
GOLDEN = Path(__file__).parents[3] / "golden" / "source"
LIMITS = Limits(wall_seconds=120)
SPECIALISED = {
    "gemm": ("example_gemm_0", GEMM),
    "attention": ("example_attention_0", ATTENTION),
    "attention_pipelined": ("example_attention_0", ATTENTION_PIPELINED),
    "persistent": ("persistent_gemm", PERSISTENT),
}
LOWERED = ("gemm", "attention")
"""Taken down to CUDA text: seconds each; the others stop after TileLang's materialiser."""
PLAIN = [*fitting(), *EXAMPLES[1:7]]

SOLVED = (
    *(
        "persistent_gemm",
        "persistent_for",
        "dequant_gemm",
        "layernorm",
        "early_small_load",
        "one_trip",
    ),
    *("causal_attention", "grouped_gemm", "guarded_copies", "cp_async_gemm", "gemv", "unrolled_stages", "shared_view"),
    *("named_statements", "local_variables", "late_start", "promoted_fp8", "loads_around_loop", "example_gemm_5"),
    *("ring_by_hand", "two_loops", "last_tile_again", "filled_twice", "counted_while", "loop_by_choice", "stream_k"),
    *("staged_twice", "row_products"),
)
"""Kernels whose best schedule by the solver is put to TileLang as well."""

Answers = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def materialized(
    pool: ChildPool, corpus_ir: Callable[[str], str], read_graph: Callable[[str], KernelGraph]
) -> dict[str, dict[str, Any]]:
    """IR and source of every job: the specialised schedules, and one role for each kernel of the corpus."""
    jobs = dict(SPECIALISED)
    for name in PLAIN:
        jobs[f"plain_{name}"] = (name, one_role(read_graph(name)))
    for name in SOLVED:
        verdict = solve(close_problem(read_graph(name), load_profile("h200")))
        assert isinstance(verdict, (ProvenOptimal, Feasible)), (name, verdict)
        assert isinstance(verdict.schedule, WarpSchedule)
        jobs[f"solved_{name}"] = (name, verdict.schedule)
    done = {}
    for name in PLAIN:
        reply = pool.run("materialize.plain", {"ir": corpus_ir(name), "variant": "default"}, LIMITS)
        assert isinstance(reply, Returned), (name, reply)
        assert reply.value["source"], (name, reply.value["source_missing"])
        done[f"unscheduled_{name}"] = {**reply.value, "ir": corpus_ir(name), "unscheduled": True}
    for job, (kernel, schedule) in jobs.items():
        reply = pool.run("materialize.warp", {"ir": corpus_ir(kernel), "schedule": dump(schedule)}, LIMITS)
        assert isinstance(reply, Returned), (job, reply)
        assert reply.value["source"], (job, reply.value["source_missing"])
        done[job] = {**reply.value, "plain": corpus_ir(kernel), "schedule": dump(schedule)}
    return done


@pytest.fixture(scope="session")
def lowered(materialized: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What TileLang makes of every job."""
    folder = tmp_path_factory.mktemp("lowered")
    jobs = [{"name": name, "lower": name in LOWERED, **value} for name, value in materialized.items()]
    (folder / "jobs.json").write_text(json.dumps(jobs))
    command = [sys.executable, str(CHILD), str(folder / "jobs.json"), str(folder / "results.json")]
    root = Path(__file__).parents[4]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, cwd=root, env=_with(root))
    assert run.returncode == 0, run.stderr[-4000:]
    answers: Answers = json.loads((folder / "results.json").read_text())
    return answers


def _with(root: Path) -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(root)}


@pytest.mark.parametrize("name", [*SPECIALISED, *(f"plain_{name}" for name in PLAIN)])
def test_tilelang_takes_the_schedule_and_launches_its_warps(
    name: str, lowered: Answers, read_graph: Callable[[str], KernelGraph]
) -> None:
    answer = lowered[name]
    assert "error" not in answer, answer["error"]
    if name in SPECIALISED:
        warps = SPECIALISED[name][1].num_warps
    else:
        warps = one_role(read_graph(name.removeprefix("plain_"))).num_warps
    assert answer["threads"] == 32 * warps


@pytest.mark.parametrize("name", SOLVED)
def test_tilelang_takes_what_the_solver_found(
    name: str, lowered: Answers, materialized: dict[str, dict[str, Any]]
) -> None:
    answer = lowered[f"solved_{name}"]
    assert "error" not in answer, answer["error"]
    assert answer["threads"] == 32 * materialized[f"solved_{name}"]["schedule"]["num_warps"]
    assert answer["same_ir"]


@pytest.mark.parametrize("name", [*SPECIALISED, *(f"plain_{name}" for name in PLAIN)])
def test_the_source_to_paste_builds_the_same_ir(name: str, lowered: Answers) -> None:
    assert lowered[name]["same_ir"]


@pytest.mark.parametrize("name", PLAIN)
def test_the_source_of_the_compilers_own_choice_is_the_users_kernel(
    name: str, lowered: Answers, materialized: dict[str, dict[str, Any]]
) -> None:
    # A kernel whose author named its statements loses the names, which only a schedule would refer to.
    assert lowered[f"unscheduled_{name}"] == {"same_ir": name != "named_statements"}
    source = materialized[f"unscheduled_{name}"]["source"]
    assert "WS" not in source, "nothing of a schedule, and no ids"
    assert "ws_op" not in source


def test_a_choice_that_needs_to_be_told_says_what(pool: ChildPool, corpus_ir: Callable[[str], str]) -> None:
    reply = pool.run("materialize.plain", {"ir": corpus_ir("example_gemm_0"), "variant": "unspecialized"}, LIMITS)
    assert isinstance(reply, Returned), reply
    assert "PASS_CONFIGS = {'tl.disable_warp_specialized': True}" in reply.value["source"]


@pytest.mark.parametrize("name", LOWERED)
def test_the_source_to_paste_lowers_to_the_same_cuda_text(name: str, lowered: Answers) -> None:
    assert lowered[name]["same_cuda"]


def test_register_budgets_and_barriers_reach_the_kernel(lowered: Answers) -> None:
    gemm = lowered["gemm"]
    assert gemm["registers"] == ["alloc<240>", "dealloc<24>"]
    assert "as_bs_full_mem[3]" in gemm["cuda"]
    assert "wgmma" in gemm["cuda"]
    assert "tma_load" in gemm["cuda"]


@pytest.mark.parametrize("name", SPECIALISED)
def test_the_source_text_is_what_it_was(name: str, materialized: dict[str, dict[str, Any]]) -> None:
    """Golden: look at the difference, and copy the new text over when it is meant."""
    assert materialized[name]["source"] == (GOLDEN / f"{name}.txt").read_text()


def refusal(pool: ChildPool, ir: str, schedule: WarpSchedule) -> Refused:
    reply = pool.run("materialize.warp", {"ir": ir, "schedule": dump(schedule)}, LIMITS)
    assert isinstance(reply, Refused), reply
    return reply


def test_a_schedule_for_another_kernel_is_refused_with_the_name_it_trips_over(
    pool: ChildPool, corpus_ir: Callable[[str], str]
) -> None:
    ir = corpus_ir("example_gemm_0")
    cases = {
        "schedule-unknown-op": replace(GEMM, scopes=(program(ROOT, consumer=body("nothing")),)),
        "schedule-unknown-scope": replace(GEMM, scopes=(program("nowhere", consumer=()),)),
        "schedule-unknown-role": replace(GEMM, scopes=(program(ROOT, nobody=body("fill_acc")),)),
        "schedule-unknown-buffer": replace(GEMM, pipelines=(Pipeline("p", ("Zs",), 1),)),
        "schedule-unknown-pipeline": replace(GEMM, scopes=(program(ROOT, consumer=body("wait zs")),)),
        "schedule-num-warps": replace(GEMM, num_warps=9),
    }
    for code, schedule in cases.items():
        reply = refusal(pool, ir, schedule)
        assert (reply.code, reply.error) == (code, "GraphError")
        assert reply.place


def test_a_kernel_that_carries_a_schedule_is_not_scheduled_again(
    pool: ChildPool, materialized: dict[str, dict[str, Any]]
) -> None:
    assert refusal(pool, materialized["gemm"]["ir"], GEMM).code == "already-scheduled"
