"""The same problem for CP-SAT and Z3: a network at one interval as a :class:`solver.model.Model`, and the levels over it.

The model is a translation of the network that the exact search uses, family by family, so all engines have one feasible
set. Propagation at the root gives the variables finite domains. A modular offset is one integer variable with coefficient
II; nothing else in the model multiplies.
"""

from dataclasses import dataclass

from solver.ascend.bounds import clique_bound, issue_bound
from solver.ascend.families import build_network
from solver.ascend.optimise import Optimum, least_by_bounds, straight_network
from solver.ascend.problem import LoopProblem, StraightProblem
from solver.ascend.search import Choice, Plan, Search, State
from solver.ascend.symmetry import symmetry_arcs
from solver.domain import Bound
from solver.engines import Budget, Engine, EngineStatus, engine
from solver.model import Expr, Model, Var, linear

__all__ = ["model_at", "optimise_straight_with_engine", "optimise_with_engine"]


@dataclass(slots=True)
class _Built:
    model: Model
    starts: list[Var]
    versions: list[Var]
    bytes: Expr
    length: Expr


def model_at(search: Search, state: State, *, objective: bool) -> _Built:
    """The model of a network at the state's interval, inside the state's bounds.

    Starts are relative to task 0, or absolute when the network has an origin.
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
    for version in network.version_arcs:
        with model.family(version.family):
            gap = starts[version.target] - starts[version.source] + interval * versions[version.buffer]
            model.at_least(gap, version.lag, note=f"{version.source}->{version.target}, buffer {version.buffer}")
    _exclusions(model, search, state, starts)
    _stages(model, search, state, starts)
    for capacity in network.capacities:
        with model.family("memory_capacity"):
            model.at_most(linear(*((network.sizes[b], versions[b]) for b in capacity.members)), capacity.limit)
    first, last = _ends(model, search, starts)
    total = linear(*((size, versions[b]) for b, size in enumerate(network.sizes)))
    if objective:
        model.minimize(*([total] if total.terms else []), last - first)
    return _Built(model, starts, versions, total, last - first)


def _exclusions(model: Model, search: Search, state: State, starts: list[Var]) -> None:
    low, high = search.offset_bounds(state)
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


def optimise_with_engine(problem: LoopProblem, name: str, budget: Budget) -> Optimum:
    """Interval, bytes and length with an engine of :mod:`solver.engines`; bounds and bisection as in the exact search."""
    network = build_network(problem)
    network.arcs += symmetry_arcs(problem, network)
    bounds = [issue_bound(problem), clique_bound(problem, network)]
    search = Search(network, max(b.cycles for b in bounds))
    low, state = least_by_bounds(problem, search, bounds)
    if state is None:
        return _nothing(bounds, True, 0)
    solver, work = engine(name), 0
    top: int | None = None
    ceiling = max(sum(problem.latencies), sum(problem.iis), low) + 1
    trial, proven, raised = low, True, False
    while top is None or low < top:
        state = search.root(trial)
        status = EngineStatus.INFEASIBLE
        if state is not None:
            result = solver.solve(model_at(search, state, objective=False).model, budget)
            status, work = result.status, work + result.work
        if status in (EngineStatus.OPTIMAL, EngineStatus.FEASIBLE):
            top = trial
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
        bounds.append(Bound(top, f"search:{name} excludes every smaller interval"))
    return _levels(problem, search, top, solver, budget, bounds, proven, work)


def optimise_straight_with_engine(problem: StraightProblem, name: str, budget: Budget) -> Optimum:
    """The makespan of a straight-line list with an engine of :mod:`solver.engines`."""
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
    bound = Bound(length if optimal else 0, f"search:{name}")
    plan = Plan(tuple(starts), (), Choice((), (), ()))
    return Optimum(plan, None, (bound,), optimal, 0, True, length, bound.cycles, optimal, result.work)


def _levels(
    problem: LoopProblem,
    search: Search,
    interval: int,
    adapter: Engine,
    budget: Budget,
    bounds: list[Bound],
    proven: bool,
    work: int,
) -> Optimum:
    state = search.root(interval)
    if state is None:
        raise AssertionError("propagation fails at an interval with a known schedule")
    built = model_at(search, state, objective=True)
    result = adapter.solve(built.model, budget)
    work += result.work
    if result.values is None:
        return _nothing(bounds, False, work)
    starts = [result.values[v.index] for v in built.starts]
    if search.origin is None:
        starts = [s - min(starts) for s in starts]
    versions = tuple(result.values[v.index] for v in built.versions)
    plan = Plan(tuple(starts), versions, Choice((), versions, ()))
    bytes_used = problem.bytes_of(versions)
    length = max(s + lat for s, lat in zip(starts, problem.latencies, strict=True)) - min(starts)
    optimal = result.status is EngineStatus.OPTIMAL
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
