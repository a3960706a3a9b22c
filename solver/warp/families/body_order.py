"""A role runs its list in order, as one stream; stage offsets must not break a dependence through unprotected storage.

An item at offset d works on iteration i - d at step i. Only pipeline buffers have versions, so for any other dependence of x
before y (distance k) the step of x must come first: ``(d_x, position x) < (d_y + k, position y)``. Offsets are those of the
spans an item touches; an item that touches none runs at offset 0; a span opens and closes at one stage. TileLang checks none
of the order (rule book 1.7 and 1.14.7: PV of the wrong iteration is accepted). An asynchronous product's operands and result
are free only after its wait (1.14.6); for one into tensor memory its own role has none, only a pipeline's barrier tells.
Source: TileLang 0.1.15 wheel, MWS:1863-1936, 2495-2602.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import ROOT, Op, Scope, ScopeKind
from warpwright.solver.domain.schedule import Sync
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal, Var, linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.layout.instruction_order import free_after, orderings, still_used, wait_behind
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading, ReadInstruction

NAME = "body_order"


def build(enc: WarpEncoding) -> None:
    """One stream per role: source order without stages, free order with them; length of an iteration."""
    _build_unawaited(enc)
    for scope in enc.loops:
        for role in enc.structure.roles:
            items = enc.structure.body(scope.id, role)
            if not items:
                continue
            if enc.is_staged(scope.id, role):
                _build_staged(enc, scope, role, items)
            else:
                _build_in_order(enc, scope, role, items)
            _build_results(enc, scope, role)
            for item in items:
                end = enc.start[scope.id, role, item] + enc.hold(role, item)
                enc.model.at_least(enc.length[scope.id] - end, 0)
        for index, channel in enumerate(enc.structure.channels):
            for n in range(len(channel.hand_offs)) if channel.scope == scope.id else ():
                enc.model.at_least(enc.length[scope.id] - enc.release[index, n], 0)


def _build_unawaited(enc: WarpEncoding) -> None:
    """No operation beside a product into tensor memory that uses the same storage, unless a pipeline hands it over."""
    handed = {channel.buffer for channel in enc.structure.channels}
    for role in enc.structure.roles:
        mine = [op for op in enc.problem.graph.ops if role in enc.structure.placement[op.id]]
        for product, other, buffer in _unawaited(enc.problem, mine, handed):
            note = f"nothing in {role} waits for {product.id} before {other.id} uses {buffer}"
            enc.model.at_least(linear(constant=0), 1, note=note)


def _unawaited(problem: WarpProblem, ops: Sequence[Op], handed: Collection[str]) -> list[tuple[Op, Op, str]]:
    """Products, operations behind them in the same role, and the buffers of both that no pipeline hands over."""
    products = [op for op in ops if op.arrives_itself]
    found = [(product, other, still_used(problem, product, other)) for product in products for other in ops]
    return [(product, other, buffer) for product, other, buffer in found if buffer and buffer not in handed]


def _build_in_order(enc: WarpEncoding, scope: Scope, role: str, items: tuple[str, ...]) -> None:
    starts = [enc.start[scope.id, role, item] for item in items]
    for n in range(len(items) - 1):
        enc.model.at_least(starts[n + 1] - starts[n] - enc.hold(role, items[n]), 0)
    around = starts[0] + enc.interval[scope.id] - starts[-1] - enc.hold(role, items[-1])
    enc.model.at_least(around, 0, note=f"{role} finishes {scope.id} before it starts the next iteration")


def _build_staged(enc: WarpEncoding, scope: Scope, role: str, items: tuple[str, ...]) -> None:
    model, interval = enc.model, enc.interval[scope.id]
    origin = model.integer(f"origin of {role} in {scope.id}", 0, 2 * interval.hi)
    for item in items:
        key = (scope.id, role, item)
        model.at_most(enc.phase[key] + enc.hold(role, item) - interval, 0)
        for stage, literal in enc.stage_is[key].items():
            offset = enc.start[key] - origin - enc.phase[key] - stage * interval
            model.equal(offset, 0, when=[literal])
    implied = _implied(enc, scope, role, items)
    for n, first in enumerate(items):
        for second in items[n + 1 :]:
            before = model.boolean(f"{first} before {second} in {role}")
            if (first, second) in implied:
                model.any_of([before])
            one, other = enc.phase[scope.id, role, first], enc.phase[scope.id, role, second]
            model.at_least(other - one - enc.hold(role, first), 0, when=[before])
            model.at_least(one - other - enc.hold(role, second), 0, when=[before.negated()])
            enc.before[scope.id, role, first, second] = before
    _build_stages(enc, scope, role, items)
    _build_spans(enc, scope, role, items)
    for ordering in orderings(enc.problem, enc.structure, scope.id, role):
        start = enc.start[scope.id, role, ordering.first] + enc.hold(role, ordering.first)
        later = enc.start[scope.id, role, ordering.second] + ordering.distance * interval
        model.at_least(later - start, 0, note=f"{ordering.first} before {ordering.second} ({ordering.why})")


def _implied(enc: WarpEncoding, scope: Scope, role: str, items: tuple[str, ...]) -> set[tuple[str, str]]:
    """Pairs whose order in the list follows from dependences, because both always run at stage 0.

    Steps compare lexicographically by stage and place, so orderings inside one iteration are transitive whatever the stages
    in between; between two items of stage 0 they order the list itself. This saves the search most of the pairs.
    """
    after: dict[str, set[str]] = {item: set() for item in items}
    for ordering in orderings(enc.problem, enc.structure, scope.id, role):
        if ordering.distance == 0:
            after[ordering.first].add(ordering.second)
    for item in reversed(items):
        for later in tuple(after[item]):
            after[item] |= after[later]
    moving = {item for touching in _sides(enc, scope, role).values() for item in touching}
    fixed = [item for item in items if item not in moving]
    return {(first, second) for first in fixed for second in fixed if second in after[first]}


def _sides(enc: WarpEncoding, scope: Scope, role: str) -> dict[int, tuple[str, ...]]:
    """Channels that a role fills or uses in a scope, with the items that touch each."""
    return {
        index: channel.writes if role == channel.producer else channel.reads
        for index, channel in enumerate(enc.structure.channels)
        if channel.scope == scope.id and role in (channel.producer, channel.consumer)
    }


def _build_stages(enc: WarpEncoding, scope: Scope, role: str, items: tuple[str, ...]) -> None:
    """Items have the stage of the channels that they touch, all others stage 0, and some channel is at stage 0."""
    sides = _sides(enc, scope, role)
    lowest: list[Literal] = []
    for index, touching in sides.items():
        lowest.append(enc.stage_is[scope.id, role, touching[0]][0])
        for item in touching[1:]:
            _same_stage(enc, scope.id, role, touching[0], item, ())
        for other, others in sides.items():
            merged = enc.merged.get((index, other))
            if merged is not None:
                _same_stage(enc, scope.id, role, touching[0], others[0], (merged,))
    touched = {item for touching in sides.values() for item in touching}
    for item in items:
        if item not in touched:
            enc.model.any_of([enc.stage_is[scope.id, role, item][0]], note=f"{item} touches no pipeline: stage 0")
    if lowest:
        enc.model.any_of(
            lowest, note=f"stage offsets count from the smallest in {role}'s body of {scope.id}, which is 0"
        )
    if not _takes_offsets(scope):
        for item in items:
            enc.model.any_of([enc.stage_is[scope.id, role, item][0]], note=_no_offsets(scope))


def _takes_offsets(scope: Scope) -> bool:
    return scope.kind is ScopeKind.WHILE or (scope.kind is not ScopeKind.ROOT and scope.zero_based)


def _no_offsets(scope: Scope) -> str:
    what = "the root runs once" if scope.kind is ScopeKind.ROOT else f"{scope.id} does not start at 0"
    return f"{what}: no stage offsets in it"


def _build_spans(enc: WarpEncoding, scope: Scope, role: str, items: tuple[str, ...]) -> None:
    """Spans of one pipeline follow one another: all work on a value, and the waits for it, before those of the next one."""
    for index in _sides(enc, scope, role):
        channel = enc.structure.channels[index]
        sides = [value.writes if role == channel.producer else value.reads for value in channel.hand_offs]
        for value, later in pairwise(sides):
            for item in {*value, free_after(enc.problem.ops, items, value)}:
                for after in later:
                    enc.model.any_of([enc.before[scope.id, role, item, after]])


def _same_stage(enc: WarpEncoding, scope: str, role: str, one: str, other: str, when: tuple[Literal, ...]) -> None:
    for stage, literal in enc.stage_is[scope, role, one].items():
        enc.model.any_of([enc.stage_is[scope, role, other][stage]], when=[literal, *when])


def _build_results(enc: WarpEncoding, scope: Scope, role: str) -> None:
    """Items that wait for an asynchronous product start after its result is available."""
    for ordering in orderings(enc.problem, enc.structure, scope.id, role):
        op = enc.problem.ops.get(ordering.first)
        if not ordering.waits_for_result or op is None:
            continue
        first: Var = enc.start[scope.id, role, ordering.first]
        later = enc.start[scope.id, role, ordering.second] + ordering.distance * enc.interval[scope.id]
        result = enc.result(role, ordering.first)
        enc.model.at_least(later - first - result, 0, note=f"{ordering.second} needs the result of {op.id}")


def check(reading: Reading) -> tuple[Violation, ...]:
    """Stages of spans and items, and every dependence inside one role."""
    found: list[Violation] = []
    for scope, role in reading.bodies:
        if scope not in reading.problem.scopes:
            continue
        entries = reading.entries(scope, role)
        _check_stages(reading, scope, role, entries, found)
        by_item = {entry.item: entry for entry in entries if entry.item}
        for ordering in orderings(reading.problem, reading, scope, role):
            first, second = by_item.get(ordering.first), by_item.get(ordering.second)
            if first is None or second is None:
                continue
            if not (first.delta, first.position) < (second.delta + ordering.distance, second.position):
                message = (
                    f"{role} runs {ordering.second} (stage {second.delta}) too early: it must follow {ordering.first} "
                    f"(stage {first.delta}), {ordering.why}"
                )
                found.append(Violation(NAME, "order-breaks-dependence", message, ordering.second))
        _check_waits(reading, scope, role, entries, found)
    _check_unawaited(reading, found)
    return tuple(dict.fromkeys(found))


def _check_unawaited(reading: Reading, found: list[Violation]) -> None:
    handed = {buffer for pipeline in reading.schedule.pipelines for buffer in pipeline.buffers}
    for role in reading.roles:
        mine = [op for op in reading.problem.graph.ops if role in reading.placement.get(op.id, ())]
        for product, other, buffer in _unawaited(reading.problem, mine, handed):
            message = (
                f"{role} runs {other.id}, which uses {buffer} of {product.id}, and nothing in it waits for that product"
            )
            found.append(Violation(NAME, "product-unawaited", message, other.id))


def _check_stages(
    reading: Reading, scope: str, role: str, entries: tuple[ReadInstruction, ...], found: list[Violation]
) -> None:
    opened: dict[str, Sync] = {}
    stage_of: dict[str, int] = {}
    for entry in entries:
        if isinstance(entry.instruction, Sync):
            sync = entry.instruction
            if sync.pipeline not in opened and stage_of.setdefault(sync.pipeline, sync.stage) != sync.stage:
                message = (
                    f"{role} has spans of {sync.pipeline} in {scope} at different stages: their order would change"
                )
                found.append(Violation(NAME, "spans-share-stage", message, sync.pipeline))
            if sync.pipeline in opened:
                if opened.pop(sync.pipeline).stage != sync.stage:
                    message = f"{role} opens and closes {sync.pipeline} in {scope} at different stages"
                    found.append(Violation(NAME, "pair-shares-stage", message, sync.pipeline))
            else:
                opened[sync.pipeline] = sync
            continue
        if not entry.item:
            continue
        around = reading.spans_around(scope, role, entry.position, entry.item)
        if len({span.stage for span in around}) > 1:
            names = " and ".join(span.pipeline for span in around)
            message = f"{entry.item} touches {names}, whose spans are at different stages"
            found.append(Violation(NAME, "item-between-stages", message, entry.item))
    shift = max((entry.delta for entry in entries), default=0)
    kind = reading.problem.scopes[scope]
    if shift and scope == ROOT:
        found.append(Violation(NAME, "root-shift", f"{role} has stage offsets in the root scope", role))
    elif shift and kind.kind is not ScopeKind.WHILE and not kind.zero_based:
        message = f"{role} has stage offsets in {scope}, whose loop does not start at 0"
        found.append(Violation(NAME, "shift-needs-zero-base", message, scope))


def _check_waits(
    reading: Reading, scope: str, role: str, entries: tuple[ReadInstruction, ...], found: list[Violation]
) -> None:
    place = {entry.item: entry.position for entry in entries if entry.item}
    for entry in entries:
        op = reading.problem.ops.get(entry.item)
        if op is None or not op.left_in_flight:
            continue
        together = [other.item for other in entries if other.item and other.delta == entry.delta]
        wait = wait_behind(reading.problem.ops, together, entry.item)
        for span in reading.spans_around(scope, role, entry.position, entry.item):
            if wait is None or place[wait] > span.close:
                message = (
                    f"{role} releases {span.pipeline} while {op.id} may still read it: there is no wait in between"
                )
                found.append(Violation(NAME, "release-without-wait", message, op.id))


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Stage offsets in use, by role and scope; without a schedule, the pinned ones that are impossible."""
    if reading is None:
        asked = [(pin, problem.scopes[problem.ops[pin.op].scope]) for pin in problem.pins.stages if pin.stage]
        return tuple(
            Fact(f"stage of {pin.op}", pin.stage, 0, "iterations", note=_no_offsets(scope))
            for pin, scope in asked
            if not _takes_offsets(scope)
        )
    facts = []
    for scope, role in reading.bodies:
        shift = max((entry.delta for entry in reading.entries(scope, role)), default=0)
        if shift:
            facts.append(Fact(f"stages of {role} in {scope}", shift, None, "iterations"))
    return tuple(facts)
