"""Proposes structurally different schedules, ranked by the simulator; every one solved and verified.

Two passes over the structures of each variant: a coarse grid (warpgroups and depth) is forecast from sketches, then the
neighbourhood of the best points (merged pipelines, a store role, register splits, unequal depths, overlapped iterations).
The solver sees the structures in the order of their forecasts until enough schedules are found. No clock and no chance is
involved, so equal requests get equal answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from solver.candidates.result import Baseline, Candidate, Proposals, Rejected
from solver.candidates.sketch import sketch
from solver.candidates.structures import Space, Structure, space_of
from solver.domain import (
    Feasible,
    GraphError,
    HardwareProfile,
    Infeasible,
    KernelGraph,
    PinError,
    Pins,
    ProvenOptimal,
    Unknown,
    WarpSchedule,
    digest_text,
    dumps,
)
from solver.engines import Budget
from solver.problem import close_problem
from solver.simulate import BASELINES, Simulation, forecast_baseline, simulate
from solver.simulate.machine import machine
from solver.simulate.registers import role_registers
from solver.solve import solve
from solver.verify import verify

__all__ = ["Variant", "propose", "propose_family"]

Variant = tuple[Mapping[str, object], KernelGraph]

REFINED = 2
"""Coarse structures of a variant whose neighbourhood is looked at."""
TRIES = 3
"""The solver is asked for at most this many structures for each candidate wanted."""
GROUPS = 3
"""The answer spans at least this many groups of structures, where there are as many."""
SHOWN_INFEASIBLE = 2
"""Structures of a variant beyond the memory limit that the solver is asked about, for their conflicts."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    forecast_ns: float
    variant: int
    structure: Structure

    @property
    def group(self) -> tuple[int, int, bool]:
        """Structures of one group are variations of each other: same variant, same width, same order of iterations."""
        return (self.variant, self.structure.warpgroups, self.structure.overlapped)


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
) -> Proposals:
    """Up to ``count`` verified schedules over all variants of a kernel, best forecast first, no two alike.

    Args:
        variants: (parameters, kernel graph) of each variant of the family.
        profile: The device.
        count: Candidates wanted.
        engine: Name of the solver engine.
        budget: Budget of each solve.
        pins: What the user fixed; every candidate keeps it.

    Raises:
        NotApplicable: a kernel or the profile is not of the CUDA family.
        PinError: a pin names nothing in a kernel, or two pins contradict each other by themselves.
        ProfileError: the profile lacks a number that every schedule depends on.
    """
    pins = pins or Pins()
    spaces = [space_of(graph) for _, graph in variants]
    for _, graph in variants:
        close_problem(graph, profile, pins)
    ranked, beyond = _rank(spaces, profile, pins)
    found: dict[str, Candidate] = {}
    rejected: list[Rejected] = []
    for place in [*_diverse(ranked, count)[: count * TRIES], *beyond]:
        wanted = len(found) < count
        if not wanted and place not in beyond:
            continue
        params, graph = variants[place.variant]
        outcome = _solve(graph, profile, place.structure, pins, engine, budget)
        if isinstance(outcome, Rejected):
            rejected.append(replace(outcome, params=dict(params), variant=place.variant))
        elif outcome is not None and wanted:
            candidate = replace(
                outcome, id=_identity(params, outcome.schedule), params=dict(params), variant=place.variant
            )
            found.setdefault(candidate.id, candidate)
    baselines = [
        Baseline(kind, simulation.nanoseconds, dict(params), index, simulation)
        for index, (params, graph) in enumerate(variants)
        for kind in BASELINES
        for simulation in (forecast_baseline(graph, profile, kind),)
    ]
    order = sorted(found.values(), key=lambda c: (c.forecast_ns, c.variant, c.id))
    return Proposals(tuple(order), tuple(rejected), tuple(baselines))


def _rank(spaces: Sequence[Space], profile: HardwareProfile, pins: Pins) -> tuple[list[_Ranked], list[_Ranked]]:
    """Structures by forecast, and the first ones beyond the memory limit of each variant."""
    limit = profile.integer("shared.per_block", "bytes")
    ranked: list[_Ranked] = []
    beyond: list[_Ranked] = []
    for index, space in enumerate(spaces):
        coarse: list[_Ranked] = []
        for structure in space.base(profile):
            if not _respects(structure, pins):
                continue
            if space.bytes_of(structure) > limit:
                if sum(place.variant == index for place in beyond) < SHOWN_INFEASIBLE:
                    beyond.append(_Ranked(float("inf"), index, structure))
                continue
            forecast = _forecast(space, structure, profile)
            if forecast is not None:
                coarse.append(_Ranked(forecast, index, structure))
        coarse.sort(key=_order)
        seen = {place.structure: place for place in coarse}
        for place in _best_of_groups(coarse):
            for neighbour in space.refined(place.structure, profile):
                if neighbour in seen or not _respects(neighbour, pins) or space.bytes_of(neighbour) > limit:
                    continue
                same_program = _timed(neighbour) == _timed(place.structure)
                forecast = place.forecast_ns if same_program else _forecast(space, neighbour, profile)
                if forecast is not None:
                    seen[neighbour] = _Ranked(forecast, index, neighbour)
        ranked += seen.values()
    return sorted(ranked, key=_order), beyond


def _order(place: _Ranked) -> tuple[float, int, str]:
    return (place.forecast_ns, place.variant, str(place.structure))


def _diverse(ranked: Sequence[_Ranked], count: int) -> list[_Ranked]:
    """The same places, with more than a third of ``count`` from one group moved behind: a forecast errs for whole groups."""
    share = max(1, -(-count // GROUPS))
    taken: dict[tuple[int, int, bool], int] = {}
    first: list[_Ranked] = []
    rest: list[_Ranked] = []
    for place in ranked:
        taken[place.group] = taken.get(place.group, 0) + 1
        (first if taken[place.group] <= share else rest).append(place)
    return [*first, *rest]


def _respects(structure: Structure, pins: Pins) -> bool:
    """Whether a structure keeps the user's pins, as far as it can tell; the solver has the last word."""
    if pins.consumer_warpgroups not in (None, structure.warpgroups):
        return False
    if pins.store_role not in (None, structure.store_role) or pins.merged_pipelines not in (None, structure.merged):
        return False
    if pins.software_pipelining not in (None, structure.overlapped):
        return False
    depths = dict(structure.depths)
    if any(pin.buffer in depths and depths[pin.buffer] != pin.depth for pin in pins.depths):
        return False
    budgets = {"consumer": structure.consumer_registers, "load": structure.load_registers}
    return all(pin.registers_per_thread in (None, budgets.get(pin.role)) for pin in pins.roles if pin.role in budgets)


def _best_of_groups(coarse: Sequence[_Ranked]) -> list[_Ranked]:
    """The best ``REFINED`` places, and the best of every other width: its neighbourhood may hold the better one."""
    best = list(coarse[:REFINED])
    for place in coarse[REFINED:]:
        if all(place.group != other.group for other in best):
            best.append(place)
    return best


def _timed(structure: Structure) -> Structure:
    """Without the choices that a sketch's forecast does not see: the register split, and overlap, which the solver builds."""
    return replace(structure, load_registers=0, consumer_registers=0, overlapped=False)


def _forecast(space: Space, structure: Structure, profile: HardwareProfile) -> float | None:
    """Time of the structure's sketch; None when its registers spill or it cannot run: no use to ask the solver."""
    schedule = sketch(space, structure)
    if any(role.spilled for role in role_registers(space.graph, machine(profile), schedule).values()):
        return None
    simulation = simulate(space.graph, profile, schedule)
    return None if simulation.deadlocked else simulation.nanoseconds


def _solve(
    graph: KernelGraph,
    profile: HardwareProfile,
    structure: Structure,
    pins: Pins,
    engine: str,
    budget: Budget | None,
) -> Candidate | Rejected | None:
    """The structure solved and verified; None when the user's pins and the structure's name different values."""
    try:
        problem = close_problem(graph, profile, pins).with_pins(structure.pins())
    except (PinError, GraphError):
        return None
    verdict = solve(problem, engine=engine, budget=budget)
    if isinstance(verdict, Infeasible | Unknown):
        return Rejected(structure.described(), verdict)
    assert isinstance(verdict, ProvenOptimal | Feasible)
    schedule = verdict.schedule
    if not isinstance(schedule, WarpSchedule) or verify(graph, profile, schedule):
        return None
    simulation: Simulation = simulate(graph, profile, schedule)
    if simulation.deadlocked:
        return None
    return Candidate(
        "",
        schedule,
        verdict.certificate,
        verdict.status,
        simulation.nanoseconds,
        structure.described(),
        simulation=simulation,
    )


def _identity(params: Mapping[str, object], schedule: WarpSchedule) -> str:
    text = ",".join(f"{key}={params[key]}" for key in sorted(params))
    return digest_text(f"{text}\n{dumps(schedule)}")[len("sha256:") :][:16]
