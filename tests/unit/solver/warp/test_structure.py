"""What follows from the placement: roles, replicated scalars, channels, and hand-offs that no pipeline can do."""

from dataclasses import replace

import pytest

from tests import kernels
from tests.kernels import Sketch
from warpwright.solver.domain.errors import DocumentError, PinError
from warpwright.solver.domain.kernel import Access, KernelGraph, Memory, ScopeKind
from warpwright.solver.domain.pins import DepthPin, Pins, PlacementPin, RolePin
from warpwright.solver.domain.schedule import (
    Fence,
    OpRef,
    Pipeline,
    Role,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
)
from warpwright.solver.domain.verdict import Infeasible, ProvenOptimal
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.certificate_check import check_certificate
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import CONSTRAINT_SET, WarpProblem, close_problem
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import violations

H200 = load_profile("h200")
ROOT = "tl.ws_scope_root"


def closed(graph: KernelGraph, **pins: object) -> WarpProblem:
    return close_problem(graph, H200, Pins(**pins))  # type: ignore[arg-type]  # pins by name


def reasons(graph: KernelGraph) -> list[str]:
    """Why loads stay with the role that uses their buffer."""
    structure = structure_of(closed(graph))
    assert not structure.conflicts
    return [conflict.message for conflict in structure.stayed]


def test_loads_go_to_the_load_role_and_the_rest_to_the_consumer() -> None:
    placement = structure_of(closed(kernels.gemm())).placement
    assert {op for op, roles in placement.items() if roles == ("load",)} == {"copy_a", "copy_b"}
    assert {roles for op, roles in placement.items() if not op.startswith("copy")} == {("consumer",)}


def test_scalars_run_where_they_are_used() -> None:
    placement = structure_of(closed(kernels.persistent_gemm())).placement
    assert placement["row"] == placement["column"] == ("consumer", "load")


def test_a_store_role_takes_the_store_and_the_scalars_it_needs() -> None:
    structure = structure_of(closed(kernels.persistent_gemm(), store_role=True))
    assert structure.roles == ("consumer", "load", "store")
    assert structure.placement["row"] == ("load", "store")
    channel = structure.channels[-1]
    assert (channel.buffer, channel.scope, channel.producer, channel.consumer) == ("Cs", "tile", "consumer", "store")


def test_a_buffer_filled_once_changes_hands_in_the_root() -> None:
    channels = {channel.buffer: channel for channel in structure_of(closed(kernels.attention())).channels}
    assert (channels["Qs"].scope, channels["Qs"].writes, channels["Qs"].reads) == (ROOT, ("copy_q",), ("k",))
    assert channels["Ks"].scope == channels["Vs"].scope == "k"


def test_tensor_memory_changes_hands_around_the_loop() -> None:
    structure = structure_of(close_problem(kernels.blackwell_gemm(), load_profile("b200")))
    channels = {channel.buffer: channel for channel in structure.channels}
    assert (channels["acc"].producer, channels["acc"].consumer, channels["acc"].writes) == ("mma", "consumer", ("k",))
    assert (channels["As"].producer, channels["As"].consumer) == ("load", "mma")


def test_consume_then_refill_is_no_hand_off() -> None:
    """TileLang issue 2668: read-after-write across the back edge; depth 2 and more were silently wrong."""
    (message,) = reasons(kernels.rewrites_after_use())
    assert "an iteration of k earlier" in message
    problem = closed(kernels.rewrites_after_use())
    assert {structure_of(problem).placement[op] for op in ("first", "next")} == {("consumer",)}
    assert structure_of(problem).placement["copy_b"] == ("load",)
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert [pipeline.buffers for pipeline in verdict.schedule.pipelines] == [("Bs",)]


def test_a_refill_that_the_user_gives_to_another_role_is_infeasible() -> None:
    pins = (PlacementPin("first", "load"), PlacementPin("next", "load"))
    verdict = solve(closed(kernels.rewrites_after_use(), placements=pins))
    assert isinstance(verdict, Infeasible)
    assert "hand_offs" in [conflict.family for conflict in verdict.conflicts]
    assert any("an iteration of k earlier" in conflict.message for conflict in verdict.conflicts)


def sibling_loops(names: tuple[str, str]) -> KernelGraph:
    s = Sketch("siblings", 128)
    for name in dict.fromkeys(names):
        s.buffer(name, Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.fill("clear", "acc")
    for loop, name in zip(("first", "second"), names, strict=True):
        s.loop(loop, 8)
        s.load(f"copy_{loop}", name, loop)
        s.gemm(f"mma_{loop}", name, name, "acc", (64, 64, 64), loop)
    return s.graph()


def test_sibling_loops_with_one_buffer_are_named() -> None:
    """TileLang issue 2309: the shared buffer was expanded once a loop and the compiler crashed."""
    (message,) = reasons(sibling_loops(("As", "As")))
    assert "changes hands in first and second" in message
    verdict = solve(closed(sibling_loops(("As", "As"))))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert [role.name for role in verdict.schedule.roles] == ["consumer"]


def test_a_plain_copy_holds_its_role_until_the_data_is_there() -> None:
    graph = sibling_loops(("As", "As"))
    alone, shared = (solve(closed(g)) for g in (graph, sibling_loops(("As", "Bs"))))
    assert isinstance(alone, ProvenOptimal)
    assert isinstance(shared, ProvenOptimal)
    copy, product = graph.op("copy_first"), graph.op("mma_first")
    least = copy.latency_cycles + max(use.cycles for use in product.uses)
    assert (alone.certificate.initiation_interval_cycles or 0) >= least
    assert (shared.certificate.initiation_interval_cycles or 0) < least


def test_a_load_that_needs_what_the_consumer_computes_stays_with_it() -> None:
    """An index from shared memory that both use: its statement touches storage of the whole block and runs in one role."""
    s = Sketch("gather", 128)
    s.buffer("table", Memory.SHARED, (64,), "int32")
    s.buffer("row", Memory.LOCAL, (1,), "int32")
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.load("load_table", "table")
    s.fill("clear", "acc")
    s.loop("k", 8)
    s.each("pick", ["table"], ["row"], "k")
    copy = s.load("copy_a", "As", "k")
    s.ops[-1] = replace(copy, reads=(*copy.reads, Access("row", 4)))
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "k")
    s.each("shift", ["acc", "row"], ["acc"], "k")
    graph = s.graph()
    graph = replace(graph, ops=tuple(replace(op, replicable=op.id != "pick" and op.replicable) for op in graph.ops))
    structure = structure_of(closed(graph))
    assert structure.placement["copy_a"] == ("consumer",)
    assert structure.placement["load_table"] == ("load",)
    assert isinstance(solve(closed(graph)), ProvenOptimal)


def test_sibling_loops_with_a_buffer_each_have_depths_of_their_own() -> None:
    verdict = solve(closed(sibling_loops(("As", "Bs")), depths=(DepthPin("As", 2), DepthPin("Bs", 4))))
    assert isinstance(verdict, ProvenOptimal)


def test_a_small_load_before_the_loop_gets_a_barrier() -> None:
    """TileLang issue 2443: a pre-loop load used only in the epilogue by another role was not synchronised."""
    s = Sketch("bias", 128)
    s.buffer("bias", Memory.SHARED, (64,))
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.fill("clear", "acc")
    s.load("copy_bias", "bias")
    s.loop("k", 8)
    s.load("copy_a", "As", "k")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "k")
    s.each("add", ["acc", "bias"], ["acc"])
    channels = {channel.buffer: channel.scope for channel in structure_of(closed(s.graph())).channels}
    assert channels == {"bias": ROOT, "As": "k"}
    assert isinstance(solve(closed(s.graph())), ProvenOptimal)


def test_private_storage_never_changes_hands() -> None:
    verdict = solve(closed(kernels.gemm(), placements=(PlacementPin("stage_c", "load"),)))
    assert isinstance(verdict, Infeasible)
    assert "hand_offs" in {conflict.family for conflict in verdict.conflicts}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda op: replace(op, guarded=True), "under a guard"),
        (lambda op: replace(op, reads=(*op.reads, Access("As", 1))), "an iteration earlier"),
        (lambda op: op, ""),
    ],
)
def test_values_that_live_across_iterations_forbid_versions(change: object, reason: str) -> None:
    graph = kernels.gemm()
    assert callable(change)
    ops = tuple(change(op) if op.id == "copy_a" else op for op in graph.ops)
    problem = closed(replace(graph, ops=ops), depths=(DepthPin("As", 2),))
    assert reason in problem.source.loop_carried("As", "k")
    verdict = solve(problem)
    if reason:
        assert isinstance(verdict, Infeasible)
        assert {"pipeline_depth", "pins"} == {conflict.family for conflict in verdict.conflicts}
    else:
        assert isinstance(verdict, ProvenOptimal)


@pytest.mark.parametrize(
    ("pins", "code"),
    [
        ({"depths": (DepthPin("Zs", 2),)}, "pin-unknown-buffer"),
        ({"placements": (PlacementPin("nothing", "load"),)}, "pin-unknown-op"),
        ({"roles": (RolePin("worker", 0, 4),)}, "pin-unknown-role"),
        ({"unlimited_memories": ("ub",)}, "pin-not-for-cuda"),
    ],
)
def test_pins_that_name_nothing_are_refused(pins: dict[str, object], code: str) -> None:
    with pytest.raises(PinError) as refused:
        closed(kernels.gemm(), **pins)
    assert refused.value.code == code


def test_a_problem_survives_its_json() -> None:
    problem = closed(kernels.attention(), depths=(DepthPin("Ks", 2),))
    again = WarpProblem.from_json(problem.to_json())
    assert again == problem
    assert again.digest == problem.digest


def test_a_problem_of_an_older_constraint_set_is_refused() -> None:
    text = closed(kernels.gemm()).to_json().replace(CONSTRAINT_SET, "cuda-warp/1")
    with pytest.raises(DocumentError, match="cuda-warp/1") as refused:
        WarpProblem.from_json(text)
    assert (refused.value.code, refused.value.place) == ("document-schema", "/constraint_set")


def two_roles(load: str, consumer: str) -> WarpSchedule:
    """The bodies of the loop in short: ``<`` and ``>`` open and close a span of the pipeline, words are operations."""

    def body(text: str, opening: SyncKind, closing: SyncKind) -> tuple[OpRef | Sync, ...]:
        syncs = {"<": Sync(opening, "ring"), ">": Sync(closing, "ring")}
        return tuple(syncs.get(word) or OpRef(word) for word in text.split())

    filling = body(load, SyncKind.PRODUCER_ACQUIRE, SyncKind.PRODUCER_COMMIT)
    using = body(consumer, SyncKind.CONSUMER_WAIT, SyncKind.CONSUMER_RELEASE)
    return WarpSchedule(
        8,
        (Role("consumer", 0, 4, 240), Role("load", 4, 5, 24)),
        (Pipeline("ring", ("As",), 2),),
        (
            ScopeProgram(ROOT, (RoleBody("consumer", (OpRef("clear"), OpRef("k"))), RoleBody("load", (OpRef("k"),)))),
            ScopeProgram("k", (RoleBody("consumer", using), RoleBody("load", filling))),
        ),
    )


@pytest.mark.parametrize(
    ("load", "consumer", "rules"),
    [
        ("< copy_first copy_second >", "< mma_first mma_second >", {"refilled-before-use"}),
        ("< copy_first > < copy_second >", "< mma_first > < mma_second >", set()),
        (
            "< copy_first > < copy_second >",
            "< mma_second > < mma_first >",
            {"refilled-before-use", "used-before-filled"},
        ),
    ],
)
def test_a_buffer_that_is_filled_again_needs_a_span_for_each_value(load: str, consumer: str, rules: set[str]) -> None:
    """In one span the first product would read what the second copy brought: TileLang checks no order between roles."""
    problem = closed(kernels.filled_twice())
    found = {
        violation.rule
        for violation in violations(problem, two_roles(load, consumer))
        if violation.family == "hand_offs"
    }
    assert found == rules


def shown(schedule: WarpSchedule, scope: str, role: str) -> str:
    """A body in short, as :func:`two_roles` reads it."""
    opening = (SyncKind.PRODUCER_ACQUIRE, SyncKind.CONSUMER_WAIT)
    body = schedule.program(scope).body(role)
    return " ".join(
        i.id if isinstance(i, OpRef) else "|" if isinstance(i, Fence) else "<" if i.sync in opening else ">"
        for i in body
    )


@pytest.mark.parametrize("engine", ["cpsat", "z3"])
def test_the_search_gives_each_value_of_an_iteration_a_span_of_its_own(engine: str) -> None:
    problem = closed(kernels.filled_twice())
    (channel,) = structure_of(problem).channels
    assert [(value.writes, value.reads) for value in channel.hand_offs] == [
        (("copy_first",), ("mma_first",)),
        (("copy_second",), ("mma_second",)),
    ]
    verdict = solve(problem, engine=engine)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert shown(verdict.schedule, "k", "load") == "< copy_first > < copy_second >"
    assert shown(verdict.schedule, "k", "consumer") == "< mma_first > < mma_second >"
    assert verdict.certificate.gap_cycles == 0
    assert check_certificate(problem, verdict.schedule, verdict.certificate).refused == ()


def test_more_versions_than_iterations_hold_the_values_of_one_iteration() -> None:
    """One trip, two values: the second copy need not wait for the first product. A third version would never be used."""
    graph = kernels.filled_twice()
    once = replace(graph, scopes=tuple(replace(s, trips=1) if s.id == "k" else s for s in graph.scopes))
    for depth, legal in ((2, True), (3, False)):
        verdict = solve(closed(once, depths=(DepthPin("As", depth),)))
        assert isinstance(verdict, ProvenOptimal if legal else Infeasible), depth
    schedule = two_roles("< copy_first > < copy_second >", "< mma_first > < mma_second >")
    deeper = replace(schedule, pipelines=(replace(schedule.pipelines[0], depth=3),))
    assert {v.rule for v in violations(closed(once), deeper)} == {"deeper-than-trips"}


def changed(graph: KernelGraph, **ops: dict[str, object]) -> KernelGraph:
    made = tuple(replace(op, **ops.get(op.id, {})) for op in graph.ops)  # type: ignore[arg-type]  # fields by name
    return replace(graph, ops=made)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ({"writes": (Access("As", 4096, whole=False),)}, "copy_second writes only a part of it"),
        ({"guarded": True}, "copy_second writes it only under a guard"),
        ({"reads": (Access("As", 8192),)}, "copy_second reads its value of a span earlier"),
    ],
)
def test_a_value_that_builds_on_the_one_before_has_one_version(second: dict[str, object], reason: str) -> None:
    """Each span sees a version of its own: with two versions the rest of the second value would be that of an iteration ago."""
    problem = closed(changed(kernels.filled_twice(), copy_second=second))
    schedule = two_roles("< copy_first > < copy_second >", "< mma_first > < mma_second >")
    found = [v.message for v in violations(problem, schedule) if v.rule == "loop-carried"]
    assert len(found) == 1
    assert reason in found[0]
    single = replace(schedule, pipelines=(replace(schedule.pipelines[0], depth=1),))
    assert "loop-carried" not in {v.rule for v in violations(problem, single)}
    loads = Pins(placements=(PlacementPin("copy_first", "load"), PlacementPin("copy_second", "load")))
    verdict = solve(problem.with_pins(loads))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert [pipeline.depth for pipeline in verdict.schedule.pipelines] == [1]
    one_version = verdict.certificate.initiation_interval_cycles
    free = solve(problem)
    assert isinstance(free, ProvenOptimal)
    assert (free.certificate.initiation_interval_cycles or 0) < (one_version or 0), "the search tries other placements"
    assert "proven optimal among schedules with everything in one role; every" in free.certificate.sentence


def test_a_buffer_that_is_filled_once_does_not_share_the_spans_of_one_that_is_filled_twice() -> None:
    """The second span hands over another version of both, and the second product would read the rest of an older ``Xs``."""
    s = Sketch("gated", 128)
    for name in ("Xs", "Ws"):
        s.buffer(name, Memory.SHARED, (64, 64))
    for name in ("gate", "up"):
        s.buffer(name, Memory.FRAGMENT, (64, 64), "float32")
        s.fill(f"clear_{name}", name)
    s.loop("k", 8)
    s.load("copy_x", "Xs", "k")
    for name in ("gate", "up"):
        s.load(f"copy_{name}", "Ws", "k")
        s.gemm(f"mma_{name}", "Xs", "Ws", name, (64, 64, 64), "k")
    problem = closed(s.graph())
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert {pipeline.buffers for pipeline in verdict.schedule.pipelines} == {("Xs",), ("Ws",)}
    assert isinstance(solve(closed(s.graph(), merged_pipelines=True)), ProvenOptimal)
    together = two_roles("< copy_x copy_gate > < copy_up >", "< mma_gate > < mma_up >")
    root = (RoleBody("consumer", (OpRef("clear_gate"), OpRef("clear_up"), OpRef("k"))), RoleBody("load", (OpRef("k"),)))
    merged = replace(
        together, pipelines=(Pipeline("ring", ("Xs", "Ws"), 2),), scopes=(ScopeProgram(ROOT, root), together.scopes[1])
    )
    found = violations(problem, merged)
    assert [(v.rule, v.place) for v in found] == [("loop-carried", "Xs")]
    assert "mma_up reads its value of a span earlier" in found[0].message


def test_spans_of_one_pipeline_at_two_stages_change_places() -> None:
    """A step of the loop would take the first value of iteration i and the second of i - 1, the producer fills them in turn."""
    schedule = two_roles("< copy_first > < copy_second >", "< mma_first > < mma_second >")
    body = tuple(
        replace(entry, stage=1) if isinstance(entry, Sync) and n > 2 else entry
        for n, entry in enumerate(schedule.program("k").body("consumer"))
    )
    load = schedule.program("k").body("load")
    loop = ScopeProgram("k", (RoleBody("consumer", body), RoleBody("load", load)))
    graph = kernels.filled_twice()
    independent = replace(graph, dependences=tuple(d for d in graph.dependences if d.buffer != "acc"))
    found = violations(closed(independent), replace(schedule, scopes=(schedule.scopes[0], loop)))
    assert {violation.rule for violation in found} == {"spans-share-stage"}


def test_a_value_that_is_in_flight_when_the_next_is_waited_for_stays_with_its_user() -> None:
    """Both products in flight over one wait would need two spans of one pipeline open at a time."""
    s = Sketch("pair", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    for name in ("one", "two"):
        s.buffer(name, Memory.FRAGMENT, (64, 64), "float32")
    s.loop("k", 8)
    for name in ("one", "two"):
        s.load(f"copy_{name}", "As", "k")
        s.gemm(f"mma_{name}", "As", "As", name, (64, 64, 64), "k", waits=False)
    s.wait("all", ["one", "two"], "k")
    graph = s.graph()
    (message,) = set(reasons(graph))
    assert "mma_one reads As until all, but mma_two needs the next value of it before" in message
    verdict = solve(closed(graph))
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert not verdict.schedule.pipelines


@pytest.mark.parametrize("engine", ["cpsat", "z3"])
def test_a_scalar_that_is_defined_under_a_guard_makes_the_kernel_infeasible_and_is_named(engine: str) -> None:
    """TileLang refuses it whatever the roles are: the definition is not visible outside of its branch."""
    graph = kernels.persistent_gemm()
    ops = tuple(replace(op, guarded=op.id == "row" or op.guarded) for op in graph.ops)
    verdict = solve(closed(replace(graph, ops=ops)), engine=engine)
    assert isinstance(verdict, Infeasible)
    (conflict,) = verdict.conflicts
    assert conflict.family == "placement"
    assert "defined only under a guard" in conflict.message


def counted_loop(*, guarded: bool = False, scalar: str = "") -> KernelGraph:
    """A loop that runs as long as a variable of the thread says, which no load uses; or as a bound scalar says."""
    s = Sketch("counted", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.buffer("left", Memory.LOCAL, (1,), "int32")
    s.fill("set_left", "left")
    if scalar:
        s.bind("bind", scalar)
    s.loop("loop", None, kind=ScopeKind.SERIAL if guarded or scalar else ScopeKind.WHILE)
    s.load("copy", "As", "loop")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "loop")
    if not guarded and not scalar:
        s.copy("set_left_2", "left", "left", "loop")
    scopes = dict(s.scopes)
    control = {"uses_scalars": (scalar,)} if scalar else {"reads": ("left",)}
    scopes["loop"] = replace(scopes["loop"], guarded=guarded, **control)  # type: ignore[arg-type]  # fields by name
    ops = tuple(replace(op, replicable=True) if op.id.startswith("set_") else op for op in s.ops)
    return replace(s.graph(), scopes=tuple(scopes.values()), ops=ops)


@pytest.mark.parametrize(
    ("graph", "followers"),
    [
        (counted_loop(), ("set_left", "set_left_2")),
        (counted_loop(guarded=True), ("set_left",)),
        (counted_loop(scalar="last"), ("bind",)),
    ],
)
def test_a_role_that_enters_a_loop_runs_what_decides_over_it(graph: KernelGraph, followers: tuple[str, ...]) -> None:
    """Else its own instance of the variable was never written: it leaves the loop at once or never, and the others hang."""
    problem = closed(graph)
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    assert {structure_of(problem).placement[op] for op in followers} == {("consumer", "load")}
    for follower in followers:
        rules = {v.rule for v in violations(problem, without(verdict.schedule, "load", follower))}
        assert rules & {"private-storage", "scalar-not-defined"}, follower


def without(schedule: WarpSchedule, role: str, item: str) -> WarpSchedule:
    """The schedule with one role not running one item."""
    scopes = []
    for program in schedule.scopes:
        kept = [
            (b.role, tuple(i for i in b.instructions if (b.role, i) != (role, OpRef(item)))) for b in program.bodies
        ]
        scopes.append(ScopeProgram(program.scope, tuple(RoleBody(name, body) for name, body in kept)))
    return replace(schedule, scopes=tuple(scopes))


def test_a_variable_is_written_before_the_loop_that_it_decides_over() -> None:
    problem = closed(counted_loop())
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
    assert isinstance(verdict.schedule, WarpSchedule)
    first = verdict.schedule.program(ROOT)
    late = tuple(RoleBody(b.role, b.instructions[::-1] if b.role == "load" else b.instructions) for b in first.bodies)
    swapped = replace(verdict.schedule, scopes=(ScopeProgram(ROOT, late), *verdict.schedule.scopes[1:]))
    assert "order-breaks-dependence" in {violation.rule for violation in violations(problem, swapped)}


def test_a_loop_whose_end_only_the_consumer_knows_keeps_its_loads_there() -> None:
    """The variable comes from a product's result, which no other role has: the loads stay, the kernel is still scheduled."""
    graph = counted_loop()
    read = Access("acc", 4096)
    problem = closed(changed(graph, set_left_2={"reads": (read,)}))
    assert structure_of(problem).placement["copy"] == ("consumer",)
    verdict = solve(problem)
    assert isinstance(verdict, ProvenOptimal)
