"""A slot that threads read and bulk copies refill is given back behind a fence in every build, ours and the compiler's own."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from warpwright.graphs import read_graph
from warpwright.kernel_file import read_kernel_file
from warpwright.lowering.compile.toolchain import tilelang_root
from warpwright.solver.domain import Feasible, Fence, KernelGraph, ProvenOptimal, WarpSchedule, dump, load
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import violations
from warpwright.tuning.children import ChildPool, Limits, Returned

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LIMITS = Limits(wall_seconds=240)
H200 = load_profile("h200")
FENCE = "tl::fence_proxy_async();"
ARRIVAL = re.compile(r"(\w*empty\w*|mbarrier)\[.*\]\.arrive\(\);")


@pytest.fixture(scope="module")
def builds() -> dict[str, dict[str, dict[str, Any]]]:
    child = [sys.executable, str(HERE / "kernels" / "proxy_fences.py")]
    run = subprocess.run(child, capture_output=True, text=True, timeout=240, check=True, cwd=ROOT)
    answer: dict[str, dict[str, dict[str, Any]]] = json.loads(run.stdout)
    return answer


def before_arrivals(source: str) -> list[bool]:
    """Of every arrival that gives a slot back: whether a fence stands right before it."""
    lines = [line.strip() for line in source.splitlines()]
    return [lines[n - 1] == FENCE for n, line in enumerate(lines) if ARRIVAL.fullmatch(line)]


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("read by threads", "default"),
        ("read by threads", "role_based"),
        ("read by threads, one version", "default"),
        ("product through registers", "default"),
        ("product through registers", "role_based"),
    ],
)
def test_the_compilers_own_builds_are_repaired(builds: dict[str, Any], name: str, variant: str) -> None:
    build = builds[name][variant]
    assert before_arrivals(build["theirs"]).count(True) == 0, "TileLang writes the fence itself: the repair can go"
    fenced = before_arrivals(build["ours"])
    assert fenced.count(True) == build["added"] == 1
    # The tiles of a product are given back side by side: one fence is before both.
    assert fenced.index(True) == 0
    assert build["details"] == ["proxy_fences_added"]
    assert [line for line in build["ours"].splitlines() if FENCE not in line] == build["theirs"].splitlines()


@pytest.mark.parametrize(
    ("name", "variant", "fences"),
    [
        ("read by threads", "default", 1),
        ("product through registers", "role_based", 1),
        ("product by descriptors", "default", 0),
        ("product by descriptors", "unspecialized", 1),
    ],
)
def test_the_source_of_a_compilers_own_choice_has_the_fences_of_its_build(
    builds: dict[str, Any], name: str, variant: str, fences: int
) -> None:
    """Pasted, it is compiled by its user's own TileLang, which leaves them out."""
    build, pasted = builds[name][variant], builds[name][variant]["pasted"]
    assert pasted["text"].count("T.fence_proxy_async()") == fences
    assert pasted["added"] == 0

    def other_lines(source: str) -> list[str]:
        return [line for line in source.splitlines() if FENCE not in line]

    assert other_lines(pasted["source"]) == other_lines(build["ours"])


def test_a_kernel_that_needs_no_fence_is_built_byte_for_byte_as_before(builds: dict[str, Any]) -> None:
    same = {
        (name, variant)
        for name, by in builds.items()
        for variant, build in by.items()
        if build["ours"] == build["theirs"]
    }
    plain = {name for name, variant in same if variant == "unspecialized"}
    kept = {"read by threads", "read by threads, one version", "product through registers", "copied by a role"}
    assert plain == kept
    for variant in ("default", "role_based"):
        build = builds["product by descriptors"][variant]
        assert (build["ours"], build["added"], build["details"]) == (build["theirs"], 0, [])


def test_what_is_loaded_once_costs_no_fence_in_the_loop(builds: dict[str, Any]) -> None:
    """Scales that stay are read beside a ring that only products read: none a trip, one where a role gives them back."""
    assert builds["scales kept"]["default"]["added"] == 0
    ours = builds["scales kept"]["role_based"]["ours"]
    (fenced,) = [n for n, line in enumerate(ours.splitlines()) if line.strip() == FENCE]
    assert ours.splitlines()[fenced + 1].strip() == "Ss_empty[0].arrive();"
    assert ours.splitlines()[fenced].startswith("    tl::"), "outside of the loop"


def test_products_of_tiles_that_cp_async_wrote_are_fenced_behind_every_wait(builds: dict[str, Any]) -> None:
    """TileLang fences them in its loop, and not in the two iterations that it peels off behind it."""
    build = builds["product by descriptors"]["unspecialized"]
    assert build["theirs"].count("tl::wgmma_ss<") == 3
    assert (build["theirs"].count(FENCE), build["added"]) == (1, 2)
    starts = [part.rpartition("tl::warpgroup_wait")[2] for part in build["ours"].split("tl::wgmma_ss<")[:-1]]
    assert all(FENCE in start for start in starts)


def test_a_role_that_reads_what_another_one_copied_is_fenced_behind_its_wait(builds: dict[str, Any]) -> None:
    build = builds["copied by a role"]["default"]
    assert (build["theirs"].count(FENCE), build["added"]) == (0, 1)
    lines = [line.strip() for line in build["ours"].splitlines()]
    assert lines[lines.index(FENCE) + 1] == "tl::warpgroup_arrive();"


def test_readers_that_refill_themselves_fence_before_their_barrier(builds: dict[str, Any]) -> None:
    for variant in ("default", "unspecialized"):
        lines = [line.strip() for line in builds["refilled by its readers"][variant]["ours"].splitlines()]
        assert lines.count(FENCE) == 1
        assert lines[lines.index(FENCE) - 1].startswith("for (int k")
        assert lines[lines.index(FENCE) + 1] == "__syncthreads();"


def test_the_fence_is_the_narrow_one() -> None:
    """Of shared memory of the block only: fences of all memory cost small products a tenth (Fuser 4804)."""
    text = (tilelang_root() / "src" / "tl_templates" / "cuda" / "barrier.h").read_text()
    body = text[text.index("void fence_proxy_async()") :]
    assert 'asm volatile("fence.proxy.async.shared::cta;"' in body[: body.index("#else")]


@dataclass(frozen=True)
class Solved:
    """A user's kernel and its best schedule."""

    ir: str
    graph: KernelGraph
    schedule: WarpSchedule


@pytest.fixture(scope="module")
def solved(pool: ChildPool) -> Callable[..., Solved]:
    """Reads and solves a kernel file, each once."""

    @cache
    def of(name: str = "read_by_threads", **settings: bool) -> Solved:
        kernel = read_kernel_file(HERE / "kernels" / f"{name}.py", settings=settings, pool=pool)
        ir = kernel.variants[0].ir
        graph = read_graph(ir, H200, pool=pool)
        verdict = solve(close_problem(graph, H200))
        assert isinstance(verdict, ProvenOptimal | Feasible)
        assert isinstance(verdict.schedule, WarpSchedule)
        return Solved(ir, graph, verdict.schedule)

    return of


def built(pool: ChildPool, ir: str, schedule: WarpSchedule) -> tuple[dict[str, Any], dict[str, Any]]:
    """What materialisation and the build make of a schedule."""
    written = pool.run("materialize.warp", {"ir": ir, "schedule": dump(schedule)}, LIMITS)
    assert isinstance(written, Returned), written
    job = {
        "ir": written.value["ir"],
        "arch": "sm_90a",
        "variant": "scheduled",
        "schedule": dump(schedule),
        "output": "",
    }
    compiled = pool.run("compile.cuda", {**job, "source_only": True}, LIMITS)
    assert isinstance(compiled, Returned), compiled
    return written.value, compiled.value


def test_our_schedules_fence_each_release_once_in_code_and_in_the_source_to_paste(
    pool: ChildPool, solved: Callable[..., Solved]
) -> None:
    ir, schedule = solved().ir, solved().schedule
    fences = [e for p in schedule.scopes for b in p.bodies for e in b.instructions if isinstance(e, Fence)]
    written, compiled = built(pool, ir, schedule)
    assert len(fences) == 2
    assert before_arrivals(compiled["source"]) == [True, True]
    assert compiled["source"].count(FENCE) == 2
    assert (compiled["fences_added"], compiled["outcome"]["details"]) == (0, ["source_only"])
    assert compiled["not_honoured"] == []
    assert written["source"].count("T.fence_proxy_async()") == 2
    for fence in fences:
        assert f'with T.ws_op("fence_{fence.pipeline}"):' in written["source"]


def test_a_kernel_with_fences_of_its_own_is_read_and_gets_those_of_the_schedule(
    pool: ChildPool, solved: Callable[..., Solved]
) -> None:
    fenced = solved(fenced=True)
    assert [op.id for op in fenced.graph.ops] == [op.id for op in solved().graph.ops]
    written, compiled = built(pool, fenced.ir, fenced.schedule)
    assert written["source"].count("T.fence_proxy_async()") == 2
    assert compiled["source"].count(FENCE) == 2


def test_a_schedule_without_its_fences_is_repaired_and_says_so(pool: ChildPool, solved: Callable[..., Solved]) -> None:
    """The verifier refuses it; code that comes from elsewhere is looked at again before it is built."""
    text = json.dumps(dump(solved().schedule))
    bare = load(WarpSchedule, _without_fences(json.loads(text)))
    _, compiled = built(pool, solved().ir, bare)
    assert compiled["source"].count(FENCE) == compiled["fences_added"] == 1
    assert "proxy_fences_added" in compiled["outcome"]["details"]


def test_releases_of_the_last_trips_behind_the_loop_are_fenced_too(
    pool: ChildPool, solved: Callable[..., Solved]
) -> None:
    """A fence runs at its span's stage: with the use of a tile a trip late, the last one of it stands behind the loop."""
    kernel = solved("two_tiles")
    document = dump(kernel.schedule)
    for program in document["scopes"]:
        for body in program["bodies"]:
            for entry in body["instructions"]:
                if entry["kind"] == "sync" and entry["pipeline"] == "xs" and body["role"] == "consumer":
                    entry["stage"] = 1
    late = load(WarpSchedule, document)
    assert violations(close_problem(kernel.graph, H200), late) == ()
    _, compiled = built(pool, kernel.ir, late)
    assert before_arrivals(compiled["source"]) == [True] * 4  # z before and in the loop, x in and behind it
    assert compiled["fences_added"] == 0


def test_our_schedules_fence_what_cp_async_filled_behind_the_wait(
    pool: ChildPool, solved: Callable[..., Solved]
) -> None:
    kernel = solved("copied_product")
    _, compiled = built(pool, kernel.ir, kernel.schedule)
    lines = [line.strip() for line in compiled["source"].splitlines()]
    assert any("cp_async_gs" in line for line in lines)
    before = [lines[n - 1] for n, line in enumerate(lines) if line == FENCE]
    assert before
    assert all("_full[" in line and ".wait(" in line for line in before)
    assert compiled["fences_added"] == 0


def _without_fences(document: dict[str, Any]) -> dict[str, Any]:
    for program in document["scopes"]:
        for body in program["bodies"]:
            body["instructions"] = [entry for entry in body["instructions"] if entry["kind"] != "fence"]
    return document
