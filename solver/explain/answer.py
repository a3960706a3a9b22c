"""Answers to "why not this?" and "what limits this kernel?", with the numbers and what would change them."""

from dataclasses import replace

from warpwright.solver.domain.explanation import Explanation
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import KernelGraph, TargetFamily
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import WarpSchedule
from warpwright.solver.domain.verdict import Feasible, Infeasible, ProvenOptimal, Unknown, Verdict
from warpwright.solver.engines import Budget, EngineStatus
from warpwright.solver.engines import engine as engine_named
from warpwright.solver.explain.ascend_kernel import explain_graph
from warpwright.solver.explain.question import Question, parse
from warpwright.solver.explain.reasons import REQUESTED, reasons, witness
from warpwright.solver.explain.relaxations import feasible, relaxations
from warpwright.solver.explain.sentences import memory_sentence, ring_sentence
from warpwright.solver.profiles.pin_domains import check_pin_domains
from warpwright.solver.warp.bounds import lower_bounds
from warpwright.solver.warp.conflicts import conflicts
from warpwright.solver.warp.families import FAMILIES
from warpwright.solver.warp.problem import WarpProblem, close_problem
from warpwright.solver.warp.schedule_reader import Reading
from warpwright.solver.warp.solve import build_rules, solve, starting_point
from warpwright.solver.warp.timing import loop_times

__all__ = ["explain", "explain_problem"]


def explain(
    graph: KernelGraph,
    profile: HardwareProfile,
    why: str | None = None,
    *,
    pins: Pins | None = None,
    engine: str = "cpsat",
    budget: Budget | None = None,
) -> Explanation:
    """Why a choice is impossible, or what it costs; without ``why``, what limits the whole kernel.

    Args:
        graph: The kernel.
        profile: The device.
        why: A question of the grammar in docs/explain.md, such as ``pipelines.as_bs.depth=4``.
        pins: The choices that are already fixed.
        engine: Engine of the searches behind the answer.
        budget: Budget of each single search.

    Raises:
        PinError: ``why-unreadable`` and the codes of pins that name nothing here.
    """
    if graph.family is TargetFamily.ASCEND:
        return explain_graph(graph, profile, why, pins=pins, engine=engine)
    problem = close_problem(graph, profile, pins)
    if why is not None:
        check_pin_domains(parse(why, problem).pins, profile, "--why")
    return explain_problem(problem, why, engine=engine, budget=budget)


def explain_problem(
    problem: WarpProblem, why: str | None = None, *, engine: str = "cpsat", budget: Budget | None = None
) -> Explanation:
    """As :func:`explain`, on a closed problem."""
    limits = budget or Budget()
    if why is None:
        return _whole_kernel(problem, engine, limits)
    question = parse(why, problem)
    asked = _solve_asked(problem, question, engine, limits)
    if isinstance(asked, Unknown):
        return Explanation(question.text, None, f"Not decided: {asked.reason}.", verdict=asked)
    if isinstance(asked, Infeasible):
        return _impossible(problem, question, asked, engine, limits)
    reading = Reading(problem.with_pins(question.pins), _warp(asked))
    return Explanation(
        question.text,
        True,
        _cost(question, solve(problem, engine=engine, budget=limits), asked),
        facts=_facts(reading),
        bounds=asked.certificate.bounds,
        binding=asked.certificate.binding,
        verdict=asked,
    )


def _solve_asked(problem: WarpProblem, question: Question, engine: str, budget: Budget) -> Verdict:
    pinned = problem.with_pins(question.pins)
    if not question.intervals:
        return solve(pinned, engine=engine, budget=budget)
    enc = build_rules(pinned)
    with enc.model.family(REQUESTED):
        for scope, cycles in question.intervals:
            enc.model.at_most(enc.interval[scope], cycles, note=f"interval of {scope} at most {cycles:,} cycles")
    result = engine_named(engine).solve(enc.model, budget, starting_point(enc))
    if result.status is EngineStatus.INFEASIBLE:
        # The model has one placement; the search tries others where a bound leaves room.
        best = solve(pinned, engine=engine, budget=budget)
        if isinstance(best, Feasible | ProvenOptimal):
            reached = {time.scope: time.interval for time in loop_times(Reading(pinned, _warp(best)))}
            if all(reached[scope] <= cycles for scope, cycles in question.intervals):
                return best
        return Infeasible(conflicts(pinned, enc, result.core), engine)
    if result.status is EngineStatus.UNKNOWN:
        return Unknown(result.reason, engine, result.work)
    return solve(pinned, engine=engine, budget=budget)


def _impossible(
    problem: WarpProblem, question: Question, verdict: Infeasible, engine: str, budget: Budget
) -> Explanation:
    if feasible(problem, (), engine, budget) is False:
        found = _whole_kernel(problem, engine, budget)
        return replace(found, question=question.text, answer=f"{question.text} is impossible. {found.answer}")
    pinned = problem.with_pins(question.pins)
    told = reasons(pinned, question.intervals, verdict.conflicts, engine, budget)
    families = {conflict.family for conflict in told}
    sentences = []
    if question.intervals and "pipeline_depth" in families:
        sentences.append(ring_sentence(pinned, question))
    elif "shared_memory" in families:
        least = witness(pinned, question.intervals, "shared_memory", engine, budget)
        if least is not None:
            sentences.append(memory_sentence(pinned, question, Reading(pinned, least[0])))
    for scope, cycles in question.intervals:
        bound = lower_bounds(pinned)[scope][0]
        if bound.cycles > cycles:
            sentences = [f"one iteration of {scope} takes {bound.cycles:,} cycles by {bound.reason}"]
    if not sentences:
        named = [c.message for c in told if c.family != "pins"] or [c.message for c in told]
        sentences.append("; ".join(dict.fromkeys(named)))
    ways = relaxations(problem, question, engine, budget)
    if ways:
        sentences.append("Possible " + ", or ".join(way.change for way in ways))
    answer = f"{question.text} is impossible: " + ". ".join(sentences) + "."
    return Explanation(question.text, False, answer, told, ways, verdict=verdict)


def _cost(question: Question, best: Verdict, asked: Feasible | ProvenOptimal) -> str:
    mine = asked.certificate
    text = (
        f"{question.text} is possible: interval {mine.initiation_interval_cycles} cycles, {mine.on_chip_bytes:,} bytes"
    )
    if not isinstance(best, Feasible | ProvenOptimal):
        return text + "."
    other = best.certificate
    differences = [
        f"{name} {theirs:,} without it"
        for name, ours, theirs in (
            ("interval", mine.initiation_interval_cycles or 0, other.initiation_interval_cycles or 0),
            ("on-chip bytes", mine.on_chip_bytes, other.on_chip_bytes),
            ("length", mine.schedule_length_cycles, other.schedule_length_cycles),
            ("synchronisations", mine.synchronisations, other.synchronisations),
        )
        if ours != theirs
    ]
    return text + (f"; {', '.join(differences)}." if differences else "; the best schedule has the same numbers.")


def _whole_kernel(problem: WarpProblem, engine: str, budget: Budget) -> Explanation:
    verdict = solve(problem, engine=engine, budget=budget)
    if isinstance(verdict, Unknown):
        return Explanation("", None, f"Not decided: {verdict.reason}.", verdict=verdict)
    if isinstance(verdict, Infeasible):
        ways = relaxations(problem, Question(""), engine, budget)
        told = reasons(problem, (), verdict.conflicts, engine, budget)
        named = "; ".join(conflict.message for conflict in told)
        answer = f"No legal schedule: {named}."
        if ways:
            answer += " Possible " + ", or ".join(way.change for way in ways) + "."
        return Explanation("", False, answer, told, ways, verdict=verdict)
    certificate = verdict.certificate
    bound = certificate.lower_bound
    answer = (
        f"Interval {certificate.initiation_interval_cycles} cycles, bound {bound.cycles} by {bound.reason}; "
        f"binding: {', '.join(certificate.binding) or 'only the program order'}."
    )
    facts = _facts(Reading(problem, _warp(verdict)))
    return Explanation("", True, answer, (), (), facts, certificate.bounds, certificate.binding, verdict)


def _warp(verdict: Feasible | ProvenOptimal) -> WarpSchedule:
    assert isinstance(verdict.schedule, WarpSchedule)
    return verdict.schedule


def _facts(reading: Reading) -> tuple[Fact, ...]:
    return tuple(fact for family in FAMILIES for fact in family.explain(reading.problem, reading))
