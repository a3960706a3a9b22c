"""Certificates of Ascend schedules: the interval of the main loop, what is proven of every scope, and the whole kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy

from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.ascend.arithmetic_bound import arithmetic_bound
from warpwright.solver.ascend.problem import CONSTRAINT_SET, Problem
from warpwright.solver.ascend.solve import CallResult
from warpwright.solver.ascend.total_bound import total_bound
from warpwright.solver.ascend.total_cycles import total_cycles
from warpwright.solver.ascend.verify import calls_of, pins_of
from warpwright.solver.domain import (
    ROOT,
    Bound,
    BufferSchedule,
    Certificate,
    Choice,
    ChosenBy,
    Covered,
    HardwareProfile,
    KernelGraph,
    LeftOut,
    LoopSchedule,
    ProofScope,
    SchedulerCall,
    Why,
    digest_text,
    proof_sentence,
)

__all__ = [
    "SEARCH",
    "ScopeBound",
    "SearchClaims",
    "account_of",
    "all_proven",
    "certificate_of",
    "certificate_with",
    "headline",
    "problem_digest",
    "scope_bounds",
    "spelled",
]

SEARCH = "search:"
"""The reasons of bounds that a search proved begin with it; every other bound is arithmetic."""


@dataclass(frozen=True, slots=True)
class SearchClaims:
    """What a search says about itself. ``searched`` are the bounds that it proved, by scope."""

    engine: str
    version: str
    work: int
    work_limit: int
    seed: int = 0
    oracle: str = ""
    searched: Mapping[str, Bound] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScopeBound:
    """One scope of a schedule: the cycles that it reaches (a loop's interval, a list's makespan) and their bound."""

    call: SchedulerCall
    problem: Problem
    loop: LoopSchedule
    bound: Bound

    @property
    def reached(self) -> int:
        """Cycles of the schedule."""
        interval = self.loop.initiation_interval_cycles
        return self.loop.makespan_cycles if interval is None else interval

    @property
    def proven(self) -> bool:
        """Whether nothing is shorter."""
        return self.bound.cycles >= self.reached


def certificate_of(
    graph: KernelGraph,
    profile: HardwareProfile,
    schedule: BufferSchedule,
    results: Sequence[tuple[SchedulerCall, Problem, CallResult | None]],
    engine: str,
    work_limit: int,
    *,
    verified: bool,
) -> Certificate:
    """The certificate of a kernel's plan.

    A bound that a search proved counts only for the scope's own problem: one of a problem with less memory, because the rest of
    the kernel was given some, says nothing about other divisions of the memory.
    """
    own = {call.scope: problem for call, problem in calls_of(graph, profile, schedule)}
    searched = {
        call.scope: result.lower_bound
        for call, problem, result in results
        if result is not None and result.lower_bound.reason.startswith(SEARCH) and own.get(call.scope) == problem
    }
    version = f"warpwright-exact/1 numpy {numpy.__version__}" if engine == "exact" else engine
    work = sum(result.work for _, _, result in results if result is not None)
    account = SearchClaims(engine, version, work, work_limit, searched=searched)
    return replace(certificate_with(graph, profile, schedule, account), verified=verified)


def certificate_with(
    graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule, account: SearchClaims
) -> Certificate:
    """The only certificate that is true of a legal schedule if the search's account of itself is.

    The interval is that of the innermost loop in which the kernel spends most cycles. The bounds list has one entry per
    scope; ``binding`` names what limits each interval. The schedule itself proves the total.
    """
    scopes = scope_bounds(graph, profile, schedule, account.searched)
    loops = {loop.scope: loop for loop in schedule.loops}
    wanted = headline(graph, loops)
    main = next((each for each in scopes if each.call.scope == wanted), scopes[0] if scopes else None)
    total = total_cycles(graph, profile, loops)
    counts = {each.buffer: each.versions for each in schedule.buffers}
    made = Certificate(
        initiation_interval_cycles=main.loop.initiation_interval_cycles if main is not None else None,
        lower_bound=main.bound if main is not None else Bound(0, "none"),
        gap_cycles=max(0, main.reached - main.bound.cycles) if main is not None else 0,
        schedule_length_cycles=main.loop.makespan_cycles if main is not None else 0,
        on_chip_bytes=sum(use.needed_bytes for use in kernel_capacity.uses(graph, profile, counts)),
        synchronisations=0,
        engine=account.engine,
        engine_version=account.version,
        seed=account.seed,
        work=account.work,
        work_limit=account.work_limit,
        constraint_set=CONSTRAINT_SET,
        problem_digest=problem_digest(graph.calls),
        profile_digest=profile.digest,
        verified=True,
        binding=tuple(f"{spelled(each.call)}: {each.bound.reason}" for each in scopes),
        bounds=tuple(
            Bound(each.bound.cycles, f"{spelled(each.call)}: {'proven' if each.proven else 'bound only'}")
            for each in scopes
        ),
        oracle=account.oracle,
        scope=_scope(wanted or "", schedule),
        pins=pins_of(schedule),
        total_cycles=total,
        total_bound_cycles=_bound(graph, profile, scopes) if total is not None else None,
    )
    return replace(made, sentence=proof_sentence(made))


def all_proven(certificate: Certificate) -> bool:
    """Whether every scope's bound is reached."""
    return bool(certificate.bounds) and all(bound.reason.endswith(": proven") for bound in certificate.bounds)


def account_of(certificate: Certificate, calls: Sequence[SchedulerCall]) -> SearchClaims:
    """What a certificate says about the search; claims of its bounds are those with a search's reason."""
    searched: dict[str, Bound] = {}
    for call, bound, reason in zip(calls, certificate.bounds, certificate.binding, strict=False):
        words = reason.removeprefix(f"{spelled(call)}: ")
        if words.startswith(SEARCH):
            searched[call.scope] = Bound(bound.cycles, words)
    return SearchClaims(
        certificate.engine,
        certificate.engine_version,
        certificate.work,
        certificate.work_limit,
        certificate.seed,
        certificate.oracle,
        searched,
    )


def scope_bounds(
    graph: KernelGraph, profile: HardwareProfile, schedule: BufferSchedule, searched: Mapping[str, Bound]
) -> tuple[ScopeBound, ...]:
    """Every scope with its bound: arithmetic's, or a larger one of a search that the schedule does not contradict."""
    loops = {loop.scope: loop for loop in schedule.loops}
    found = []
    for call, problem in calls_of(graph, profile, schedule):
        if call.scope in loops:
            arithmetic = ScopeBound(call, problem, loops[call.scope], arithmetic_bound(problem))
            claim = searched.get(call.scope, arithmetic.bound)
            better = arithmetic.bound.cycles < claim.cycles <= arithmetic.reached
            found.append(replace(arithmetic, bound=claim) if better else arithmetic)
    return tuple(found)


def _scope(loop: str, schedule: BufferSchedule) -> ProofScope:
    """A scope's search goes over every order of its tasks, and over every version count and mode that no pin fixes."""
    words = ", ".join(f"{entry.buffer} x{entry.versions}" for entry in schedule.buffers) or "no versions"
    pinned = any(ChosenBy.USER in (entry.versions_chosen_by, entry.mode_chosen_by) for entry in schedule.buffers)
    left = (LeftOut("other versions", Why.PINNED),) if pinned else ()
    versions = Covered(Choice.VERSIONS, words, every=not pinned, over=(words,) if pinned else (), left_out=left)
    return ProofScope(loop, "", (versions, Covered(Choice.ORDER, "tasks at their start cycles")))


def problem_digest(calls: Sequence[SchedulerCall]) -> str:
    """Identity of the problems that a plan answers: the calls' arguments, in their order."""
    return digest_text("\n".join(call.arguments for call in calls))


def headline(graph: KernelGraph, loops: Mapping[str, LoopSchedule]) -> str | None:
    """The innermost loop in which the kernel spends most cycles, the first of them in source order; None without a loop.

    A loop whose trips are not known counts as one iteration.
    """
    scopes = {scope.id: scope for scope in graph.scopes}

    def runs(name: str | None) -> int:
        return 1 if name is None else (scopes[name].trips or 1) * runs(scopes[name].parent)

    best: tuple[int, str] | None = None
    for scope in graph.scopes:
        loop = loops.get(scope.id)
        if loop is None or loop.initiation_interval_cycles is None or any(item in scopes for item in scope.items):
            continue
        cycles = loop.initiation_interval_cycles * runs(scope.id)
        if best is None or cycles > best[0]:
            best = (cycles, scope.id)
    return best[1] if best else None


def _bound(graph: KernelGraph, profile: HardwareProfile, scopes: Sequence[ScopeBound]) -> int | None:
    problems = {each.call.scope: (each.call.items, each.problem) for each in scopes}
    return total_bound(graph, profile, problems, {each.call.scope: each.bound.cycles for each in scopes})


def spelled(call: SchedulerCall) -> str:
    """A scope's name for people."""
    return "root" if call.scope == ROOT else call.scope
