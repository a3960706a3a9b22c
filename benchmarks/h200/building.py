"""From a kernel file to built candidates, every step a task in a warm child, many at once."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.h200.problems import Problem
from warpwright.lowering.compile import CompiledKernel, from_document
from warpwright.solver.domain import (
    BaselineKind,
    Candidate,
    CandidateKind,
    DepthPin,
    HardwareProfile,
    KernelGraph,
    Memory,
    Outcome,
    Pins,
    PipelinePin,
    Proposals,
    RolePin,
    Sync,
    WarpSchedule,
    digest_text,
    dump,
    dumps,
    load,
)
from warpwright.solver.forecast import forecast_baseline
from warpwright.tuning.children import ChildPool, Limits, Raised, Reply, Returned
from warpwright.tuning.children.step_outcome import of_reply

__all__ = ["Built", "Family", "Plan", "Workshop"]

READ = Limits(wall_seconds=120)
PROPOSE = Limits(wall_seconds=150, memory_bytes=16 << 30)
COMPILE = Limits(wall_seconds=180, memory_bytes=12 << 30)

BASELINES: tuple[BaselineKind, ...] = (CandidateKind.DEFAULT, CandidateKind.ROLE_BASED)


@dataclass(frozen=True, slots=True)
class Plan:
    """One thing to build. ``forecast_ns`` is the simulator's, made before anything was measured."""

    id: str
    kind: CandidateKind
    variant: int
    params: dict[str, Any]
    ir: str
    schedule: dict[str, Any] | None = None
    structure: dict[str, str] = field(default_factory=dict)
    forecast_ns: float | None = None
    status: str = ""
    origin: str = ""
    options: tuple[str, ...] = ()

    def with_options(self, *options: str) -> "Plan":
        """The same plan built with options that change rounding."""
        return replace(self, id=f"{self.id}+{'+'.join(options)}", options=options)


@dataclass(slots=True)
class Built:
    """A plan and its result."""

    plan: Plan
    kernel: CompiledKernel | None = None
    failure: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class Family:
    """A problem as it was read: IR and graph of each variant."""

    problem: Problem
    variants: list[dict[str, Any]]
    graphs: dict[int, dict[str, Any]]
    hashes: dict[int, str] = field(default_factory=dict)
    """Structural hashes of the readable variants' IR."""
    refused: list[str] = field(default_factory=list)


class Workshop:
    """The warm children of one run."""

    def __init__(self, profile: HardwareProfile, builders: int, output: Path, *, source_only: bool) -> None:
        self.profile = profile
        self.builders = builders
        self.output = output
        self.source_only = source_only
        self.compilers = ChildPool(builders, warm_task="compile.cuda")
        self.solvers = ChildPool(max(3, min(8, builders)))

    def close(self) -> None:
        """Ends all children."""
        self.compilers.close()
        self.solvers.close()

    def read(self, problem: Problem) -> Family:
        """IR and graphs of all variants; a variant that cannot be scheduled is noted and left to the baselines."""
        payload = {"path": problem.kernel_file, "function": None, "set": dict(problem.size)}
        reply = self.compilers.run("kernel_file.read", payload, READ)
        if not isinstance(reply, Returned):
            raise RuntimeError(f"{problem.name}: cannot read {problem.kernel_file}: {words(reply)}")
        family = Family(problem, reply.value["variants"], {})
        profile = dump(self.profile)
        with ThreadPoolExecutor(self.builders) as threads:
            jobs = [
                threads.submit(self.compilers.run, "frontend.read", {"ir": variant["ir"], "profile": profile}, READ)
                for variant in family.variants
            ]
        for number, job in enumerate(jobs):
            answer = job.result()
            if isinstance(answer, Returned):
                family.graphs[number], family.hashes[number] = answer.value["graph"], answer.value["ir_hash"]
            else:
                family.refused.append(f"{family.variants[number]['params']}: {words(answer)}")
        return family

    def propose(
        self, family: Family, count: int, each: int, seconds: float
    ) -> tuple[list[Plan], list[str], dict[str, Any]]:
        """Candidates: ``count`` of the whole family, and ``each`` of every variant in the form that its author intended.

        Returns plans, what went wrong, and what the solver excluded.
        """
        calls = [("family", sorted(family.graphs), count, Pins())]
        for number, document in sorted(family.graphs.items()):
            hands = by_hand(family.variants[number]["params"], load(KernelGraph, document), self.profile)
            calls += [(f"variant {number}, expert's pins", [number], 1, pins) for pins in hands[:each]]
        plans: dict[str, Plan] = {}
        notes: list[str] = []
        excluded: dict[str, Any] = {"infeasible": [], "unknown": []}
        with ThreadPoolExecutor(len(calls)) as threads:
            jobs = [threads.submit(self._propose, family, *call[1:], seconds) for call in calls if call[2] > 0]
        for (origin, *_), job in zip(calls, jobs, strict=False):
            reply = job.result()
            if not isinstance(reply, Returned):
                notes.append(f"propose ({origin}): {words(reply)}")
                continue
            proposals: Proposals = load(Proposals, reply.value["proposals"])
            excluded["infeasible"] += reply.value["proposals"]["rejected"]
            excluded["unknown"] += [proposals.unknown] if proposals.unknown else []
            for found in proposals.candidates:
                plan = self._plan(family, found, origin)
                plans.setdefault(plan.id, plan)
        return list(plans.values()), notes, excluded

    def baselines(self, family: Family) -> list[Plan]:
        """TileLang's own choices for every variant, and one build without specialisation: the reference of all checks."""
        plans = []
        for number, variant in enumerate(family.variants):
            for kind in BASELINES if number else (*BASELINES, CandidateKind.UNSPECIALIZED):
                plans.append(
                    Plan(
                        id=f"{kind}-{number}",
                        kind=kind,
                        variant=number,
                        params=variant["params"],
                        ir=variant["ir"],
                        forecast_ns=self._forecast(family, number, kind),
                        origin="TileLang",
                    )
                )
        return plans

    def build(self, plans: Iterable[Plan], on_built: Callable[[Built], None], stop_at: float) -> None:
        """Builds all, as many at once as there are children; what was not begun at ``stop_at`` is left out."""
        lock = threading.Lock()
        with ThreadPoolExecutor(self.builders) as threads:
            jobs = [threads.submit(self._build, plan, stop_at) for plan in plans]
            for job in as_completed(jobs):
                with lock:
                    on_built(job.result())

    def _propose(self, family: Family, numbers: list[int], count: int, pins: Pins, seconds: float) -> Reply:
        kernels = [
            {
                "variant": number,
                "params": family.variants[number]["params"],
                "graph": family.graphs[number],
                "ir_hash": family.hashes[number],
            }
            for number in numbers
        ]
        payload = {
            "kernels": kernels,
            "profile": dump(self.profile),
            "pins": dump(pins),
            "count": count,
            "engine": "cpsat",
            "seed": 0,
            "work_limit": 20_000,
            "wall_seconds": 20.0,
        }
        limits = Limits(wall_seconds=seconds, memory_bytes=PROPOSE.memory_bytes)
        return self.solvers.run("propose.warp", payload, limits)

    def _plan(self, family: Family, found: Candidate, origin: str) -> Plan:
        number, schedule = found.variant, found.schedule
        variant = family.variants[number]
        assert isinstance(schedule, WarpSchedule)
        return Plan(
            id=f"{number}:{short_form(schedule).replace(' ', '_')}:{digest_text(dumps(schedule))[7:13]}",
            kind=CandidateKind.SCHEDULED,
            variant=number,
            params=variant["params"],
            ir=variant["ir"],
            schedule=dump(schedule),
            structure={"short": short_form(schedule)},
            forecast_ns=found.forecast_ns,
            status=found.status,
            origin=origin,
        )

    def _forecast(self, family: Family, number: int, kind: BaselineKind) -> float | None:
        if number not in family.graphs:
            return None
        try:
            forecast = forecast_baseline(load(KernelGraph, family.graphs[number]), self.profile, kind)
        except Exception:  # noqa: BLE001 - a forecast only accompanies the measurement, which goes on without it
            return None
        value = getattr(forecast, "nanoseconds", forecast)
        return float(value) if isinstance(value, int | float) else None

    def _build(self, plan: Plan, stop_at: float) -> Built:
        begun = time.monotonic()
        if begun > stop_at:
            return Built(plan, failure="not built: out of time")
        ir = plan.ir
        if plan.schedule is not None:
            reply = self.compilers.run("materialize.warp", {"ir": ir, "schedule": plan.schedule}, READ)
            if not isinstance(reply, Returned):
                return Built(plan, failure=f"materialize: {words(reply)}", seconds=time.monotonic() - begun)
            ir = reply.value["ir"]
        payload = {
            "ir": ir,
            "arch": self.profile.arch,
            "variant": plan.kind,
            "schedule": plan.schedule,
            "profile": dump(self.profile),
            "output": str(self.output),
            "source_only": self.source_only,
            "options": list(plan.options),
        }
        reply = self.compilers.run("compile.cuda", payload, COMPILE)
        seconds = time.monotonic() - begun
        if not isinstance(reply, Returned):
            return Built(plan, failure=f"compile: {words(reply)}", seconds=seconds)
        kernel = from_document(reply.value)
        if kernel.outcome.kind is not Outcome.COMPILED:
            return Built(plan, kernel, f"{kernel.outcome.kind}: {kernel.outcome.message}", seconds)
        return Built(plan, kernel, seconds=seconds)


BUDGETS = {1: 240, 2: 240, 3: 160}
"""Registers of a consumer thread beside a load warpgroup of 24, by consumer warpgroups."""


def by_hand(params: dict[str, Any], graph: KernelGraph, profile: HardwareProfile) -> list[Pins]:
    """What an expert would fix of a variant, the deepest ring first.

    A warpgroup for each 128 threads, one pipeline for both operands of each product of a GEMM, and in a persistent kernel a role
    that stores while the next tile begins; the ring as deep as shared memory allows, and one less; every register that the
    load warp can spare to the consumers. K and V of an attention both ways: with one pipeline for both there is no wait
    between the exponentials and the second product, with two V may arrive later.
    """
    warpgroups = int(params.get("threads", 256)) // 128
    roles = [
        RolePin("load", registers_per_thread=24),
        RolePin("consumer", registers_per_thread=BUDGETS.get(warpgroups)),
    ]
    gemm, persistent = "BK" in params, bool(params.get("workers"))
    shared = {buffer.name: buffer.bytes for buffer in graph.buffers if buffer.memory is Memory.SHARED}
    operands = [tuple(a.buffer for a in op.reads if a.buffer in shared) for op in graph.ops if op.gemm is not None]
    pairs = operands if gemm and len(operands) > 1 else []
    ring = tuple(name for pair in operands for name in pair) if gemm else ("Ks", "Vs")
    one = sum(shared[name] for name in ring)
    rest = sum(shared.values()) - one + profile.integer("shared.reserved_per_block", "bytes")
    deepest = (profile.integer("shared.per_block", "bytes") - rest) // one
    return [
        Pins(
            depths=tuple(DepthPin(name, depth) for name in ring),
            roles=(*roles, RolePin("store", registers_per_thread=24)) if persistent else tuple(roles),
            pipelines=tuple(PipelinePin(pair) for pair in pairs),
            consumer_warpgroups=warpgroups,
            merged_pipelines=merged,
            store_role=True if persistent else None,
        )
        for depth in range(deepest, 0, -1)
        for merged in ((None,) if pairs else (True,) if gemm else (None, True))
    ]


def short_form(schedule: WarpSchedule) -> str:
    """A schedule in one line: consumer warpgroups, pipelines with depths, registers, a store role, overlapped stages."""
    consumer = max(schedule.roles, key=lambda role: role.warps)
    others = [role for role in schedule.roles if role is not consumer]
    registers = "/".join(str(role.registers_per_thread) for role in (*others[:1], consumer))
    pipelines = " ".join(f"{pipeline.name}={pipeline.depth}" for pipeline in schedule.pipelines)
    syncs = [
        i for program in schedule.scopes for body in program.bodies for i in body.instructions if isinstance(i, Sync)
    ]
    extras = ["store-role"] if any("store" in role.name for role in others) else []
    extras += ["stages"] if len({sync.stage for sync in syncs}) > 1 else []
    return " ".join([f"{consumer.warps // 4}wg", pipelines, registers, *extras])


def words(reply: Reply) -> str:
    """What a reply that is not a result says, with the last line of a trace."""
    outcome = of_reply(reply, "compile")
    trace = reply.trace.strip().splitlines()[-1:] if isinstance(reply, Raised) else []
    return " ".join([f"{outcome.kind}: {outcome.message}" if outcome else "returned", *trace])[:1500]
