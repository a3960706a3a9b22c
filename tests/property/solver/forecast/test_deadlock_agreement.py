"""The simulator's deadlocks are those of the verifier's rule, on random schedules; and of a third, minimal model written here.

TileLang (0.1.15 wheel, materialize_ws_schedule.cc:1617-1717) counts: a role's (k+1)-th wait needs k+1 commits, its (k+1)-th
acquire needs depth + releases >= k+1. The simulator plays mbarriers with slots and parities, and times. This test found that
TileLang replays too few iterations for bodies with stage offsets: the last test keeps such a schedule.
"""

import random
from collections import Counter

import pytest

from warpwright.solver.domain import (
    ROOT,
    Access,
    Buffer,
    Issue,
    KernelGraph,
    Memory,
    Op,
    OpKind,
    OpRef,
    Pipeline,
    Role,
    RoleBody,
    Scope,
    ScopeKind,
    ScopeProgram,
    Sync,
    SyncKind,
    TargetFamily,
    WarpSchedule,
)
from warpwright.solver.forecast import simulate
from warpwright.solver.profiles import load_profile
from warpwright.solver.warp.families import deadlock
from warpwright.solver.warp.problem import close_problem
from warpwright.solver.warp.schedule_reader import Reading

H200 = load_profile("h200")
ROLES = ("left", "middle", "right")
OPENING = {True: SyncKind.PRODUCER_ACQUIRE, False: SyncKind.CONSUMER_WAIT}
CLOSING = {True: SyncKind.PRODUCER_COMMIT, False: SyncKind.CONSUMER_RELEASE}
TRIPS = 8


def random_case(seed: int) -> tuple[KernelGraph, WarpSchedule]:
    """Two to four pipelines between three roles in one loop, opened and closed in random order at random stages."""
    rng = random.Random(seed)
    count = rng.randint(2, 4)
    ends = [rng.sample(ROLES, 2) for _ in range(count)]
    buffers, ops = [], []
    for index, (producer, consumer) in enumerate(ends):
        name = f"B{index}"
        buffers.append(Buffer(name, Memory.SHARED, (64,), "bfloat16", 128, False))
        access = (Access(name, 128),)
        ops.append(
            Op(f"fill{index}", OpKind.PARALLEL, "k", Issue.BLOCKING, 1, (), (), access, elements=64, text=producer)
        )
        ops.append(
            Op(f"use{index}", OpKind.PARALLEL, "k", Issue.BLOCKING, 1, (), access, (), elements=64, text=consumer)
        )
    scopes = (
        Scope(ROOT, ScopeKind.ROOT, None, 1, ("k",)),
        Scope("k", ScopeKind.SERIAL, ROOT, TRIPS, tuple(op.id for op in ops)),
    )
    graph = KernelGraph("random", TargetFamily.CUDA, "sm_90a", 96, (1,), tuple(buffers), tuple(ops), scopes, ())
    bodies = {role: _body(rng, role, ends) for role in ROLES}
    used = [role for role in ROLES if bodies[role]]
    roles = tuple(Role(role, index, index + 1) for index, role in enumerate(used))
    pipelines = tuple(Pipeline(f"p{i}", (f"B{i}",), rng.choice((1, 1, 2, 3))) for i in range(count))
    program = ScopeProgram("k", tuple(RoleBody(role, bodies[role]) for role in used))
    root = ScopeProgram(ROOT, tuple(RoleBody(role, (OpRef("k"),)) for role in used))
    return graph, WarpSchedule(4, roles, pipelines, (root, program))


def _body(rng: random.Random, role: str, ends: list[list[str]]) -> tuple[OpRef | Sync, ...]:
    """Spans of the role's pipelines, interleaved at random; each keeps its order open, operation, close."""
    spans: list[list[OpRef | Sync]] = []
    for index, (producer, consumer) in enumerate(ends):
        if role not in (producer, consumer):
            continue
        fills, stage = role == producer, rng.choice((0, 0, 0, 1, 2))
        item = f"fill{index}" if fills else f"use{index}"
        spans.append([Sync(OPENING[fills], f"p{index}", stage), OpRef(item), Sync(CLOSING[fills], f"p{index}", stage)])
    body: list[OpRef | Sync] = []
    while any(spans):
        body.append(rng.choice([span for span in spans if span]).pop(0))
    return tuple(body)


def counting_model(schedule: WarpSchedule) -> bool:
    """Whether every role finishes ``TRIPS`` iterations, by counts alone."""
    queues: dict[str, list[Sync]] = {}
    for body in schedule.scopes[1].bodies:
        entries = [entry for entry in body.instructions if isinstance(entry, Sync)]
        lowest = min(entry.stage for entry in entries)
        span = max(entry.stage for entry in entries) - lowest
        queues[body.role] = [
            entry for step in range(TRIPS + span) for entry in entries if 0 <= step - (entry.stage - lowest) < TRIPS
        ]
    depth = {pipeline.name: pipeline.depth for pipeline in schedule.pipelines}
    done: Counter[tuple[str, SyncKind]] = Counter()

    def ready(entry: Sync) -> bool:
        name = entry.pipeline
        if entry.sync is SyncKind.CONSUMER_WAIT:
            return done[name, SyncKind.PRODUCER_COMMIT] > done[name, entry.sync]
        if entry.sync is SyncKind.PRODUCER_ACQUIRE:
            return depth[name] + done[name, SyncKind.CONSUMER_RELEASE] > done[name, entry.sync]
        return True

    while movable := [role for role, queue in queues.items() if queue and ready(queue[0])]:
        entry = queues[movable[0]].pop(0)
        done[entry.pipeline, entry.sync] += 1
    return not any(queues.values())


@pytest.mark.parametrize("block", range(6))
def test_simulator_rule_and_counting_agree(block: int) -> None:
    seen = Counter[bool]()
    for seed in range(block * 60, block * 60 + 60):
        graph, schedule = random_case(seed)
        expected = not counting_model(schedule)
        rule = bool(deadlock.check(Reading(close_problem(graph, H200), schedule)))
        played = simulate(graph, H200, schedule)
        assert rule == expected, f"seed {seed}: the rule says {rule}"
        assert played.deadlocked == expected, f"seed {seed}: the simulator says {played.deadlock}"
        seen[expected] += 1
    assert seen[True] >= 5, "too few schedules deadlock for the test to mean anything"
    assert seen[False] >= 5, "too few schedules run for the test to mean anything"


def test_a_deadlock_that_tilelang_replays_too_briefly_to_see_is_refused() -> None:
    graph, schedule = random_case(41)
    found = deadlock.check(Reading(close_problem(graph, H200), schedule))
    assert {violation.rule for violation in found} == {"waits-for-ever-later"}
    assert simulate(graph, H200, schedule).deadlocked
