"""The same problem for CP-SAT and Z3: a network at one interval as a :class:`warpwright.solver.engines.model.Model`, and
the levels over it.

The model is a translation of the network that the exact search uses, family by family, so all engines have one feasible
set. Propagation at the root gives the variables finite domains. A modular offset is one integer variable with coefficient
II; nothing else in the model multiplies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpwright.solver.ascend.bounds import clique_bound, clique_tasks, issue_bound
from warpwright.solver.ascend.families import build_network
from warpwright.solver.ascend.optimise import (
    STRAIGHT_BOUND,
    NodeLimits,
    Optimum,
    least_by_bounds,
    length_bound,
    shortest,
    straight_network,
)
from warpwright.solver.ascend.problem import LoopProblem, StraightProblem
from warpwright.solver.ascend.search import DiscreteChoices, Meter, Search, SearchSolution, State, WorkSpent
from warpwright.solver.ascend.symmetry import symmetry_arcs
from warpwright.solver.domain import Bound
from warpwright.solver.engines import Budget, Engine, EngineStatus, engine
from warpwright.solver.engines.model import Model, Var, linear

__all__ = ["model_at", "optimise_straight_with_engine", "optimise_with_engine", "searched_by"]


@dataclass(slots=True)
class _Built:
    """A model with the variables of a plan."""

    model: Model
    starts: list[Var]
    versions: list[Var]


def model_at(
    search: Search,
    state: State,
    *,
    objective: bool,
    least_length: int = 0,
    most_length: int | None = None,
    offsets: Sequence[int] | None = None,
) -> _Built:
    """The model of a network at the state's interval, inside the state's bounds.

    Starts are relative to task 0, or absolute when the network has an origin. ``least_length`` is a proven bound of the
    schedule length, added as a redundant constraint: it lets an engine stop at a plan that reaches it. ``most_length`` is
    a length that a plan may not exceed. ``offsets`` fixes
    the modular offset of every exclusion, which leaves plain difference constraints.
    """
    model, network, interval = Model(), search.network, state.interval
    reference = 0 if search.origin is None else search.origin
    paths = state.paths
    starts = [
        model.integer(f"start {t}", int(paths[reference, t]), int(-paths[t, reference])) for t in range(search.tasks)
    ]
    versions = [
        model.integer(f"versions {b}", low, high)
        for b, (low, high) in enumerate(zip(state.low, state.high, strict=True))
    ]
    for arc in network.arcs:
        with model.family(arc.family):
            if arc.source != arc.target:
                gap = starts[arc.target] - starts[arc.source]
                model.at_least(gap, arc.lag - interval * arc.distance, note=f"{arc.source}->{arc.target}")
            elif arc.lag > interval * arc.distance:
                # A recurrence of one task has no variable: at this interval it cannot hold.
                model.at_least(model.integer(f"recurrence {arc.source}", 0, 0), 1, note=f"task {arc.source} on itself")
    for version in network.version_arcs:
        with model.family(version.family):
            gap = starts[version.target] - starts[version.source] + interval * versions[version.buffer]
            model.at_least(gap, version.lag, note=f"{version.source}->{version.target}, buffer {version.buffer}")
    _exclusions(model, search, state, starts, offsets)
    _stages(model, search, state, starts)
    for capacity in network.capacities:
        with model.family("memory_capacity"):
            model.at_most(linear(*((network.sizes[b], versions[b]) for b in capacity.members)), capacity.limit)
    first, last = _ends(model, search, starts)
    with model.family("length"):
        model.at_least(last - first, least_length)
        if most_length is not None:
            model.at_most(last - first, most_length)
    total = linear(*((size, versions[b]) for b, size in enumerate(network.sizes)))
    if objective:
        model.minimize(*([total] if total.terms else []), last - first)
    return _Built(model, starts, versions)


def _exclusions(model: Model, search: Search, state: State, starts: list[Var], offsets: Sequence[int] | None) -> None:
    low, high = search.offset_bounds(state) if offsets is None else (list(offsets), list(offsets))
    interval = state.interval
    for x, pair in enumerate(search.network.exclusions):
        with model.family(pair.family):
            offset = model.integer(f"offset {x}", low[x], high[x])
            gap = starts[pair.second] - starts[pair.first] - interval * offset
            model.at_least(gap, pair.forward, note=f"{pair.first} before {pair.second}")
            model.at_most(gap, interval - pair.backward, note=f"{pair.second} before the next {pair.first}")


def _stages(model: Model, search: Search, state: State, starts: list[Var]) -> None:
    interval, network = state.interval, search.network
    stages: dict[int, Var] = {}
    for index, task in enumerate(search.phase_tasks):
        stages[task] = model.integer(f"stage {task}", state.stage_low[index], state.stage_high[index])
        with model.family("stages"):
            phase = starts[task] - interval * stages[task]
            model.at_least(phase, 0)
            model.at_most(phase, interval - 1)
    for order in network.stage_orders:
        with model.family("stage_order"):
            model.at_least(stages[order.second] - stages[order.first], 0)
    for phase_order in network.phase_orders:
        with model.family("manual_stages"):
            a, b = phase_order.first, phase_order.second
            model.at_least(starts[b] - interval * stages[b] - starts[a] + interval * stages[a], 0)


def _ends(model: Model, search: Search, starts: list[Var]) -> tuple[Var, Var]:
    lengths = search.network.lengths
    first = model.integer("first", min(s.lo for s in starts), max(s.hi for s in starts))
    ends = [s.hi + length for s, length in zip(starts, lengths, strict=True)]
    last = model.integer("last", min(s.lo for s in starts), max(ends))
    with model.family("length"):
        for start, length in zip(starts, lengths, strict=True):
            model.at_least(start - first, 0)
            model.at_least(last - start, length)
    return first, last


def searched_by(name: str) -> str:
    """The reason of a bound that an engine proved."""
    return f"search:{name} excludes everything below"


def optimise_with_engine(problem: LoopProblem, name: str, budget: Budget, *, proposals: bool = True) -> Optimum:
    """Interval, bytes and length with an engine of :mod:`warpwright.solver.engines`; bounds and bisection as in the exact search.

    Linear propagation is weak for cyclic orders, so a short exact search proposes them first: the engine then solves
    the remaining difference constraints, and the whole model only if that does not reach the bounds. That an
    interval has no schedule is always the engine's own verdict on the whole model, or propagation's. Without ``proposals``
    the engine has the whole model from the start.
    """
    network = build_network(problem)
    network.arcs += symmetry_arcs(problem, network)
    bounds = [issue_bound(problem), clique_bound(problem, network)]
    clique = clique_tasks(problem, network)
    search = Search(network, max(b.cycles for b in bounds))
    low, state = least_by_bounds(problem, search, bounds)
    if state is None:
        return _nothing(bounds, True, 0)
    solver, work = engine(name), 0
    top: int | None = None
    best: SearchSolution | None = None
    ceiling = max(sum(problem.latencies), sum(problem.iis), low) + 1
    trial, proven, raised = low, True, False
    while top is None or low < top:
        state = search.root(trial)
        status, plan = EngineStatus.INFEASIBLE, None
        if state is not None:
            plan = _hint(search, state) if proposals else None
            offsets = None if plan is None else plan.choice.offsets
            result = solver.solve(model_at(search, state, objective=False, offsets=offsets).model, budget)
            status, work = result.status, work + result.work
        if status in (EngineStatus.OPTIMAL, EngineStatus.FEASIBLE):
            top, best = trial, plan
        else:
            proven = proven and status is EngineStatus.INFEASIBLE
            low, raised = trial + 1, True
            if top is None and trial > 8 * ceiling:
                return _nothing(bounds, proven, work)
        if top is None:
            trial = ceiling if trial < ceiling else 2 * trial
        elif low < top:
            trial = (low + top) // 2
    if raised and proven:
        bounds.append(Bound(top, searched_by(name)))
    return _levels(problem, search, top, best, clique, solver, budget, bounds, proven, work)


def _hint(search: Search, state: State) -> SearchSolution | None:
    """A plan of few bytes from a short exact search, or None."""
    fewest = search.root(state.interval, high=list(state.low)) or state
    for start in (fewest, state):
        try:
            plan = search.solve(start.copy(), Meter(NodeLimits().bytes))
        except WorkSpent:
            continue
        if plan is not None:
            return plan
    return None


def optimise_straight_with_engine(problem: StraightProblem, name: str, budget: Budget) -> Optimum:
    """The makespan of a straight-line list with an engine of :mod:`warpwright.solver.engines`."""
    network, horizon = straight_network(problem)
    search = Search(network, horizon)
    state = search.root(horizon)
    if state is None:
        return _nothing([], True, 0)
    built = model_at(search, state, objective=True)
    result = engine(name).solve(built.model, budget)
    if result.values is None:
        return _nothing([], result.status is EngineStatus.INFEASIBLE, result.work)
    starts = [result.values[v.index] for v in built.starts]
    starts = [s - min(starts) for s in starts]
    length = max(s + lat for s, lat in zip(starts, problem.latencies, strict=True))
    optimal = result.status is EngineStatus.OPTIMAL
    least = length_bound(state, network.lengths, clique_tasks(problem, network), problem.iis)
    bounds = [Bound(least, STRAIGHT_BOUND)]
    if optimal and length > least:
        bounds.append(Bound(length, searched_by(name)))
    plan = SearchSolution(tuple(starts), (), DiscreteChoices((), (), ()))
    return Optimum(plan, None, tuple(bounds), optimal, 0, True, length, bounds[-1].cycles, optimal, result.work)


def _levels(
    problem: LoopProblem,
    search: Search,
    interval: int,
    best: SearchSolution | None,
    clique: tuple[int, ...],
    adapter: Engine,
    budget: Budget,
    bounds: list[Bound],
    proven: bool,
    work: int,
) -> Optimum:
    state = search.root(interval)
    if state is None:
        raise AssertionError("propagation fails at an interval with a known schedule")
    if best is not None:
        limit = problem.bytes_of(best.versions)
        state = search.root(interval, bytes_limit=limit) or state
        best, _, _, _ = shortest(search, state, interval, best, limit, clique, problem.iis, NodeLimits())
    least = length_bound(state, search.network.lengths, clique, problem.iis)
    offsets = None if best is None else best.choice.offsets
    built = model_at(search, state, objective=True, least_length=least, offsets=offsets)
    result = adapter.solve(built.model, budget)
    fewest = problem.bytes_of(state.low)
    closed = result.objectives == ((fewest, least) if fewest else (least,))
    if offsets is not None and not closed:
        work += result.work
        hint = (
            None
            if result.values is None
            else dict(zip((v.name for v in built.model.variables), result.values, strict=True))
        )
        built = model_at(search, state, objective=True, least_length=least)
        values = None if hint is None else [hint[v.name] for v in built.model.variables]
        short = Budget(work_limit=budget.work_limit // 10, wall_seconds=budget.wall_seconds / 10, seed=budget.seed)
        whole = adapter.solve(built.model, short, values)
        if whole.values is not None and (result.values is None or whole.objectives <= result.objectives):
            result = whole
        else:
            built = model_at(search, state, objective=True, least_length=least, offsets=offsets)
            closed = False
            result = replace(result, status=EngineStatus.FEASIBLE)
    work += result.work
    if result.values is None:
        return _nothing(bounds, False, work)
    starts = [result.values[v.index] for v in built.starts]
    if search.origin is None:
        starts = [s - min(starts) for s in starts]
    versions = tuple(result.values[v.index] for v in built.versions)
    plan = SearchSolution(tuple(starts), versions, DiscreteChoices((), versions, ()))
    bytes_used = problem.bytes_of(versions)
    length = max(s + lat for s, lat in zip(starts, problem.latencies, strict=True)) - min(starts)
    optimal = closed or result.status is EngineStatus.OPTIMAL
    return Optimum(
        plan,
        interval,
        tuple(bounds),
        proven,
        bytes_used if optimal else problem.bytes_of(state.low),
        optimal,
        length,
        length if optimal else 0,
        optimal,
        work,
    )


def _nothing(bounds: list[Bound], proven: bool, work: int) -> Optimum:
    return Optimum(None, None, tuple(bounds), proven, 0, False, 0, 0, False, work)
