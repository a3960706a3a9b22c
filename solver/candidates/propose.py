"""Proposes structurally different schedules, ranked by the simulator; every one solved and verified.

Two passes over the structures of each variant: a coarse grid (warpgroups and depth) is forecast from sketches, then the
neighbourhood of the best points (merged pipelines, a store role, register splits, unequal depths, overlapped iterations).
The solver gets the structures in the order of their forecasts until enough schedules are found. No clock and no randomness is
involved, so equal requests get equal answers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from warpwright.solver.candidates.sketch import sketch
from warpwright.solver.candidates.structures import Space, Structure, products_of, space_of
from warpwright.solver.domain import (
    Candidate,
    CandidateKind,
    Certificate,
    Conflict,
    Feasible,
    GraphError,
    HardwareProfile,
    Infeasible,
    KernelGraph,
    PinError,
    Pins,
    Proposals,
    ProvenOptimal,
    RejectedStructure,
    UndecidedStructure,
    Unknown,
    WarpSchedule,
    candidate_id,
    digest_text,
    dumps,
)
from warpwright.solver.domain.candidate_order import place_of
from warpwright.solver.engines import Budget
from warpwright.solver.forecast import simulate
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.registers import role_registers
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import solve
from warpwright.solver.warp.verify import verify

__all__ = ["Variant", "propose", "propose_family"]

Variant = tuple[Mapping[str, object], KernelGraph]
_Program = tuple[int, int, bool, tuple[tuple[str, ...], ...], bool, bool]

REFINED = 4
"""Groups of structures (variant and width) whose neighbourhood is searched."""
DEEPER_HELPS = 0.998
"""A deeper pipeline must shorten the forecast to less than this share; otherwise the next depth is not tried."""
OVERLAPPED = 1
"""Structures with overlapped iterations that the solver gets: they are the hardest for it."""
TRIES = 3
"""The solver gets at most this many structures for each requested candidate."""
GROUPS = 3
"""The answer spans at least this many groups of structures, if there are as many."""
SAME_PROGRAM = 0.02
"""What each chosen structure of the same program adds to the forecasts of the others: forecasts that differ by less than this
say nothing. On an H200 one pipeline for K and V, forecast 0.5 % slower than two, was 2 % faster (docs/results/h200.md)."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    forecast_ns: float
    variant: int
    structure: Structure

    @property
    def group(self) -> tuple[int, int, bool]:
        """Structures of one group are variations of each other: same variant, same width, same order of iterations."""
        return (self.variant, self.structure.warpgroups, self.structure.overlapped)

    @property
    def program(self) -> _Program:
        """What the roles do and where they wait; depths and registers are left out."""
        structure = self.structure
        pipelines = (structure.merged, structure.grouped)
        return (self.variant, structure.warpgroups, *pipelines, structure.store_role, structure.overlapped)


@dataclass(frozen=True, slots=True)
class _Solved:
    """A verified schedule of a structure, and its forecast."""

    schedule: WarpSchedule
    certificate: Certificate
    status: str
    forecast_ns: float


def propose(
    graph: KernelGraph,
    profile: HardwareProfile,
    *,
    count: int = 8,
    engine: str = "cpsat",
    budget: Budget | None = None,
    pins: Pins | None = None,
) -> Proposals:
    """Candidates of one kernel; see :func:`propose_family`."""
    return propose_family([({}, graph)], profile, count=count, engine=engine, budget=budget, pins=pins)


def propose_family(
    variants: Sequence[Variant],
    profile: HardwareProfile,
    *,
    count: int = 8,
    engine: str = "cpsat",
    budget: Budget | None = None,
    pins: Pins | None = None,
    kernels: Sequence[str] | None = None,
    progress: Callable[[Proposals], None] | None = None,
) -> Proposals:
    """Up to ``count`` verified schedules over all variants of a kernel, best forecast first, all different.

    Args:
        variants: (parameters, kernel graph) of each variant of the kernel family.
        profile: The device.
        count: Candidates wanted.
        engine: Name of the solver engine.
        budget: Budget of each solve.
        pins: The user's pins; every candidate keeps them.
        kernels: What the variants' kernels are called in the candidates' ids, the structural hash of each one's IR; digests of
            the graphs where there is none.
        progress: Gets what is proposed so far, whenever there is one candidate more.

    Raises:
        NotApplicable: a kernel or the profile is not a CUDA one.
        PinError: a pin names nothing in a kernel, or two pins contradict each other by themselves.
        ProfileError: the profile lacks a number that every schedule depends on.
    """
    problems = [close_problem(graph, profile, pins) for _, graph in variants]
    spaces = [space_of(problem.graph, structure_of(problem).plain) for problem in problems]
    ranked, beyond = _rank(spaces, problems, profile)
    names = kernels or [digest_text(dumps(graph)) for _, graph in variants]
    rejected = [_too_large(spaces[index], structure, profile, index) for index, structure in beyond]
    undecided: list[UndecidedStructure] = []
    found: dict[str, Candidate] = {}
    refuted: set[int] = set()
    overlapped = 0
    for variant, structure in chain(_questions(len(spaces), ranked, count), _unanswered(len(spaces), found)):
        if len(found) >= count:
            break
        params, graph = variants[variant]
        if structure is not None:
            overlapped += structure.overlapped
            if structure.overlapped and overlapped > OVERLAPPED:
                continue
        described = structure.described() if structure is not None else {"structure": "left to the solver"}
        described |= products_of(graph, profile)
        verdict = _solve(graph, profile, structure, pins or Pins(), engine, budget)
        if isinstance(verdict, Infeasible):
            rejected.append(RejectedStructure(variant, described, verdict.conflicts))
            refuted |= {variant} if structure is None else set()  # left to the solver: no structure at all is legal
        elif isinstance(verdict, Unknown):
            undecided.append(UndecidedStructure(variant, described, verdict.reason))
        elif verdict is not None:
            candidate = Candidate(
                id=candidate_id(names[variant], CandidateKind.SCHEDULED, verdict.schedule),
                variant=variant,
                kind=CandidateKind.SCHEDULED,
                params=dict(params),
                schedule=verdict.schedule,
                certificate=verdict.certificate,
                status=verdict.status,
                structure=described,
                forecast_ns=verdict.forecast_ns,
            )
            if found.setdefault(candidate.id, candidate) is candidate and progress is not None:
                progress(Proposals(_ordered(found.values())))
    infeasible = not found and refuted == set(range(len(variants)))
    return Proposals(_ordered(found.values()), tuple(rejected), tuple(undecided), infeasible=infeasible)


def _ordered(found: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best forecast first; equal ones in a fixed order of what they are."""
    return tuple(sorted(found, key=place_of))


def _questions(variants: int, ranked: Sequence[_Ranked], count: int) -> Iterator[tuple[int, Structure | None]]:
    """The structures for the solver, in order; None is a variant with only the user's pins, if no structure is promising."""
    for place in _diverse(ranked, count)[: count * TRIES]:
        yield place.variant, place.structure
    for variant in range(variants):
        if all(place.variant != variant for place in ranked):
            yield variant, None


def _unanswered(variants: int, found: Mapping[str, Candidate]) -> Iterator[tuple[int, Structure | None]]:
    """If no promising structure gave a schedule: every variant with only the user's pins."""
    if not found:
        yield from ((variant, None) for variant in range(variants))


def _rank(
    spaces: Sequence[Space], problems: Sequence[WarpProblem], profile: HardwareProfile
) -> tuple[list[_Ranked], list[tuple[int, Structure]]]:
    """Structures by forecast, and the shallowest of each variant and width that shared memory cannot hold."""
    coarse: list[_Ranked] = []
    beyond: list[tuple[int, Structure]] = []
    for index, space in enumerate(spaces):
        for warpgroups in space.widths:
            best = float("inf")
            for structure in space.base(profile, warpgroups, problems[index].pins):
                if not _respects(structure, problems[index].pins):
                    continue
                if not space.fits(structure, profile):
                    beyond.append((index, structure))
                    continue
                forecast = _forecast(space, structure, problems[index], profile)
                if forecast is None:
                    continue
                coarse.append(_Ranked(forecast, index, structure))
                if forecast > best * DEEPER_HELPS:
                    break
                best = min(best, forecast)
    coarse.sort(key=_order)
    seen = {(place.variant, place.structure): place for place in coarse}
    for place in _leaders(coarse):
        space, problem = spaces[place.variant], problems[place.variant]
        for neighbour in space.refined(place.structure, profile):
            known = (place.variant, neighbour) in seen
            if known or not _respects(neighbour, problems[place.variant].pins) or not space.fits(neighbour, profile):
                continue
            same_program = _timed(neighbour) == _timed(place.structure)
            forecast = place.forecast_ns if same_program else _forecast(space, neighbour, problem, profile)
            if forecast is not None:
                seen[place.variant, neighbour] = _Ranked(forecast, place.variant, neighbour)
    legal = [p for p in seen.values() if _promising(spaces[p.variant], p.structure, problems[p.variant], profile)]
    return sorted(legal, key=_order), beyond


def _promising(space: Space, structure: Structure, problem: WarpProblem, profile: HardwareProfile) -> bool:
    """Whether the structure's sketch passes the verifier; overlap, which a sketch does not have, is left to the solver."""
    return structure.overlapped or not verify(space.graph, profile, sketch(space, structure, problem))


def _leaders(coarse: Sequence[_Ranked]) -> list[_Ranked]:
    """The best structure of each of the ``REFINED`` best groups: their neighbourhood is searched."""
    leaders: dict[tuple[int, int, bool], _Ranked] = {}
    for place in coarse:
        if place.group not in leaders and len(leaders) < REFINED:
            leaders[place.group] = place
    return list(leaders.values())


def _too_large(space: Space, structure: Structure, profile: HardwareProfile, variant: int) -> RejectedStructure:
    """The proof by addition: the buffers exceed a block's shared memory."""
    limit = profile.integer("shared.per_block", "bytes")
    held = ", ".join(f"{n} {d} x {space.graph.buffer(n).bytes:,}" for n, d in structure.depths)
    message = f"{space.bytes_of(structure):,} of {limit:,} bytes of shared memory ({held}, "
    message += f"other buffers {space.fixed_bytes:,}, barriers {space.barrier_bytes(structure):,})"
    shallower = max((depth for _, depth in structure.depths), default=1) - 1
    relaxation = f"depth {shallower}" if shallower else "a smaller tile"
    conflict = Conflict("shared_memory", message, relaxation)
    return RejectedStructure(variant, structure.described(), (conflict,))


def _order(place: _Ranked) -> tuple[float, int, str]:
    return (place.forecast_ns, place.variant, str(place.structure))


def _diverse(ranked: Sequence[_Ranked], count: int) -> list[_Ranked]:
    """The same structures by forecast, with the later ones of each program moved back: a forecast errs for whole programs.

    It errs for whole groups, too: more than a third of ``count`` from one group come last.
    """
    waiting: dict[_Program, list[_Ranked]] = {}
    for place in ranked:
        waiting.setdefault(place.program, []).append(place)
    queue = [
        (place.forecast_ns * (1 + SAME_PROGRAM * taken), _order(place), place)
        for places in waiting.values()
        for taken, place in enumerate(places)
    ]
    share = max(1, -(-count // GROUPS))
    taken: dict[tuple[int, int, bool], int] = {}
    first: list[_Ranked] = []
    rest: list[_Ranked] = []
    for _, _, place in sorted(queue, key=lambda entry: entry[:2]):
        taken[place.group] = taken.get(place.group, 0) + 1
        (first if taken[place.group] <= share else rest).append(place)
    return [*first, *rest]


def _respects(structure: Structure, pins: Pins) -> bool:
    """Whether a structure keeps the user's pins, as far as this can tell; the solver decides."""
    if pins.consumer_warpgroups not in (None, structure.warpgroups):
        return False
    if pins.store_role not in (None, structure.store_role):
        return False
    if pins.merged_pipelines is not None and (structure.grouped or pins.merged_pipelines is not structure.merged):
        return False
    if pins.software_pipelining not in (None, structure.overlapped):
        return False
    depths = dict(structure.depths)
    if any(pin.buffer in depths and depths[pin.buffer] != pin.depth for pin in pins.depths):
        return False
    budgets = {"consumer": structure.consumer_registers, "load": structure.load_registers}
    return all(pin.registers_per_thread in (None, budgets.get(pin.role)) for pin in pins.roles if pin.role in budgets)


def _timed(structure: Structure) -> Structure:
    """The structure without the choices that a sketch's forecast does not cover: the register split and overlap."""
    return replace(structure, load_registers=0, consumer_registers=0, overlapped=False)


def _forecast(space: Space, structure: Structure, problem: WarpProblem, profile: HardwareProfile) -> float | None:
    """Time of the structure's sketch; None if its registers spill or it cannot run, so that the solver need not try it."""
    try:
        schedule = sketch(space, structure, problem)
    except PinError:
        return None
    if any(role.spilled for role in role_registers(Reading(problem, schedule)).values()):
        return None
    simulation = simulate(space.graph, profile, schedule)
    return None if simulation.deadlocked else simulation.nanoseconds


def _solve(
    graph: KernelGraph,
    profile: HardwareProfile,
    structure: Structure | None,
    pins: Pins,
    engine: str,
    budget: Budget | None,
) -> _Solved | Infeasible | Unknown | None:
    """The structure, solved and verified; None if it contradicts the user's pins."""
    try:
        problem = close_problem(graph, profile, pins)
        problem = problem.with_pins(structure.pins()) if structure is not None else problem
    except (PinError, GraphError):
        return None
    verdict = solve(problem, engine=engine, budget=budget)
    if isinstance(verdict, Infeasible | Unknown):
        return verdict
    assert isinstance(verdict, ProvenOptimal | Feasible)
    schedule = verdict.schedule
    if not isinstance(schedule, WarpSchedule) or verify(graph, profile, schedule):
        return None
    simulation = simulate(graph, profile, schedule)
    if simulation.deadlocked:
        return None
    return _Solved(schedule, verdict.certificate, verdict.status, simulation.nanoseconds)
