"""Units: in every cycle of the steady state the uses of a unit, taken modulo the interval, stay within its capacity.

(The modular reservation table of modulo scheduling; Twill, arXiv 2512.18134, section 4.1.)
"""

from itertools import combinations

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Expr, Literal, linear
from warpwright.solver.modulo.encoding import ModuloEncoding, Point, pivot, weighted
from warpwright.solver.modulo.problem import ModuloOp, ModuloProblem, ModuloSchedule, Use
from warpwright.solver.modulo.schedule_reader import ModuloReading
from warpwright.solver.modulo.spans import HeldSpan, crowded, peak

__all__ = ["NAME", "build", "check", "explain"]

NAME = "units"


def build(encoding: ModuloEncoding) -> None:
    """Pairs of uses that cannot overlap are ordered; the rest is counted at every start of a use."""
    with encoding.model.family(NAME):
        for unit in encoding.problem.units:
            uses = [(op, use) for op, use in _uses(encoding.problem, unit.name) if use.cycles]
            if all(2 * use.amount > unit.capacity for _, use in uses):
                _exclude_pairs(encoding, uses)
                _line_up(encoding, uses)
            else:
                _count(encoding, uses, unit.capacity)


def _exclude_pairs(encoding: ModuloEncoding, uses: list[tuple[ModuloOp, Use]]) -> None:
    """Modular disjunction: the later phase starts after the earlier use ends, and that one again after the later."""
    model, interval = encoding.model, encoding.interval
    for op, use in uses:
        if use.cycles > encoding.low:
            model.at_least(linear((1, interval)), use.cycles, note=f"{op.id} fits into the interval")
    for (left, a), (right, b) in combinations(uses, 2):
        p, q = encoding.after(left, a.offset), encoding.after(right, b.offset)
        note = f"{left.id} and {right.id} share {a.unit}"
        ahead = linear((1, q.phase), (-1, p.phase))
        if p.phase.index == q.phase.index:
            model.at_least(linear((0, interval)), 1, note=note)
            continue
        order = encoding.order(p, q)
        assert isinstance(order, Literal)  # the two points have separate phases
        model.at_least(ahead, a.cycles, when=[order], note=note)
        model.at_least(interval - ahead, b.cycles, when=[order], note=note)
        model.at_least(ahead * -1, b.cycles, when=[order.negated()], note=note)
        model.at_least(interval + ahead, a.cycles, when=[order.negated()], note=note)


def _line_up(encoding: ModuloEncoding, uses: list[tuple[ModuloOp, Use]]) -> None:
    """On the pivot's unit nothing wraps around the interval, so a use begins after the sum of those before it.

    Implied by the pairs; stated because the sum prunes where single pairs do not.
    """
    first = pivot(encoding.problem).id
    if not any(op.id == first and use.offset == 0 for op, use in uses):
        return
    points = [(encoding.after(op, use.offset), use.cycles) for op, use in uses]
    for here, (point, cycles) in enumerate(points):
        earlier, later = [], []
        for there, (other, other_cycles) in enumerate(points):
            if here == there:
                continue
            ahead = encoding.order(other, point)
            if not isinstance(ahead, Literal):
                return
            earlier.append((other_cycles, ahead))
            later.append((other_cycles, ahead.negated()))
        encoding.model.at_least(linear((1, point.phase)) - _sum(earlier), 0)
        encoding.model.at_least(encoding.interval - point.phase - _sum(later), cycles)


def _sum(parts: list[tuple[int, Literal]]) -> Expr:
    """Cycles of the literals that hold."""
    constant = sum(cycles for cycles, literal in parts if not literal.positive)
    return linear(*((c if x.positive else -c, x.var) for c, x in parts), constant=constant)


def _count(encoding: ModuloEncoding, uses: list[tuple[ModuloOp, Use]], capacity: int) -> None:
    spans: list[tuple[ModuloOp, Use, Point, Point]] = [
        (op, use, encoding.after(op, use.offset), encoding.after(op, use.offset + use.cycles)) for op, use in uses
    ]
    for op, use, point, _ in spans:
        total = weighted((other.amount, encoding.copies(point, start, end)) for _, other, start, end in spans)
        encoding.model.at_most(total, capacity, note=f"{use.unit} when {op.id} begins")


def check(reading: ModuloReading) -> tuple[Violation, ...]:
    """Units over their capacity, with the cycle and the operations on them."""
    problem, schedule = reading.problem, reading.schedule
    broken = []
    for index, unit in enumerate(problem.units):
        found = crowded(_spans(problem, schedule, unit.name), schedule.interval, unit.capacity)
        if found:
            message = (
                f"{unit.name} has {unit.capacity}, but {found.total} are taken in cycle {found.cycle} by {found.who}"
            )
            broken.append(Violation(NAME, "capacity", message, f"/units/{index}"))
    return tuple(broken)


def explain(problem: ModuloProblem, reading: ModuloReading | None) -> tuple[Fact, ...]:
    """Peak of every unit in one interval with how busy it is; without a schedule, its busy cycles per iteration."""
    facts = []
    for unit in problem.units:
        if reading is None:
            busy = sum(use.amount * use.cycles for _, use in _uses(problem, unit.name))
            facts.append(Fact(unit.name, busy, None, "busy cycles per iteration"))
            continue
        spans = _spans(problem, reading.schedule, unit.name)
        busy = sum(span.amount * (span.end - span.start) for span in spans)
        share = busy / (unit.capacity * reading.schedule.interval)
        top = peak(spans, reading.schedule.interval)
        facts.append(Fact(unit.name, top.total, unit.capacity, "in use", note=f"{share:.1%} busy"))
    return tuple(facts)


def _uses(problem: ModuloProblem, unit: str) -> list[tuple[ModuloOp, Use]]:
    return [(op, use) for op in problem.ops for use in op.uses if use.unit == unit]


def _spans(problem: ModuloProblem, schedule: ModuloSchedule, unit: str) -> list[HeldSpan]:
    spans = []
    for op, use in _uses(problem, unit):
        start = schedule.starts[op.id] + use.offset
        spans.append(HeldSpan(op.id, start, start + use.cycles, use.amount))
    return spans
