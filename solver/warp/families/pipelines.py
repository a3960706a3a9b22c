"""A pipeline protects shared storage between exactly one producer and one consumer role, in one scope, in closed spans.

Every access to a protected buffer is inside an open span of its innermost pipeline; a body opens and closes each span
itself; in a loop the producer commits as often as the consumer releases; both sides work on the buffers. A buffer
in several pipelines needs their scopes strictly nested. An operation writes buffers of one pipeline only. Source:
TileLang 0.1.15 wheel, MWS:616-630, 761-790, 1039-1058, 1111-1126, 1284-1308, 1435-1615; rule book 1.4 and 1.6.
"""

from collections.abc import Mapping, Sequence

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import ROOT, Buffer, Issue, Op
from warpwright.solver.domain.schedule import OpRef, Pipeline, Sync, SyncKind
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.layout.buffer_channels import PROTECTED_MEMORIES
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import OPENING, PRODUCING, Reading

NAME = "pipelines"


def build(enc: WarpEncoding) -> None:
    """Channels that one operation writes share a pipeline."""
    channels = enc.structure.channels
    written = {op.id: {access.buffer for access in op.writes} for op in enc.problem.graph.ops}
    for first in range(len(channels)):
        for second in range(first + 1, len(channels)):
            one, other = channels[first], channels[second]
            both = [op_id for op_id, names in written.items() if {one.buffer, other.buffer} <= names]
            if both and one.buffer != other.buffer:
                literal_or_none = enc.merged.get((first, second))
                allowed = [literal_or_none] if literal_or_none is not None else []
                enc.model.any_of(allowed, note=f"{both[0]} writes both and can trigger one pipeline only")


def check(reading: Reading) -> tuple[Violation, ...]:
    """Declarations, owners, spans, coverage and balance."""
    found: list[Violation] = []
    _check_declarations(reading, found)
    if not found:
        _check_owners(reading, found)
        _check_spans(reading, found)
        _check_coverage(reading, found)
    return tuple(dict.fromkeys(found))


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Pipelines and their synchronisations per trip."""
    if reading is None:
        channels = structure_of(problem).channels
        return (Fact("pipelines", len(channels), None, "if none are merged", tuple((c.name, 1) for c in channels)),)
    counts = dict.fromkeys(reading.pipelines, 0)
    for body in reading.bodies.values():
        for instruction in body:
            if isinstance(instruction, Sync) and instruction.pipeline in counts:
                counts[instruction.pipeline] += 1
    return (Fact("synchronisations", sum(counts.values()), None, "entries", tuple(counts.items())),)


def _say(found: list[Violation], rule: str, message: str, place: str) -> None:
    found.append(Violation(NAME, rule, message, place))


def _check_declarations(reading: Reading, found: list[Violation]) -> None:
    """The assumptions of the other checks: distinguishable pipelines of shared buffers, each used in one scope."""
    _check_pipelines(reading, found)
    scopes = _scopes_of_use(reading, found)
    _check_one_scope(scopes, found)
    _check_nesting(reading, scopes, found)


def _check_pipelines(reading: Reading, found: list[Violation]) -> None:
    known = {buffer.name: buffer for buffer in reading.problem.graph.buffers}
    names = [pipeline.name for pipeline in reading.schedule.pipelines]
    for name in sorted({name for name in names if names.count(name) > 1}):
        _say(found, "pipeline-twice", f"two pipelines are called {name}", name)
    for pipeline in reading.schedule.pipelines:
        if pipeline.depth < 1:
            _say(found, "depth-below-one", f"{pipeline.name} has depth {pipeline.depth}", pipeline.name)
        if not pipeline.buffers:
            _say(found, "no-buffers", f"{pipeline.name} protects nothing", pipeline.name)
        _check_protected(pipeline, known, found)


def _check_protected(pipeline: Pipeline, known: Mapping[str, Buffer], found: list[Violation]) -> None:
    """A pipeline's buffers are storage of the whole block, each named once."""
    for buffer in dict.fromkeys(pipeline.buffers):
        if pipeline.buffers.count(buffer) > 1:
            _say(found, "buffer-twice", f"{pipeline.name} protects {buffer} twice", buffer)
        if buffer not in known:
            _say(found, "unknown-buffer", f"{pipeline.name} protects {buffer}, which the kernel does not have", buffer)
        elif known[buffer].memory not in PROTECTED_MEMORIES:
            message = f"{buffer} is {known[buffer].memory.value} storage; each role has its own instance"
            _say(found, "private-buffer", message, buffer)


def _scopes_of_use(reading: Reading, found: list[Violation]) -> dict[str, set[str]]:
    """The scopes whose bodies synchronise on each declared pipeline."""
    scopes: dict[str, set[str]] = {pipeline.name: set() for pipeline in reading.schedule.pipelines}
    for (scope, _), body in reading.bodies.items():
        for instruction in body:
            if not isinstance(instruction, Sync):
                continue
            if instruction.pipeline not in scopes:
                _say(
                    found,
                    "unknown-pipeline",
                    f"{scope} synchronises on pipeline {instruction.pipeline}, which does not exist",
                    scope,
                )
            else:
                scopes[instruction.pipeline].add(scope)
    return scopes


def _check_one_scope(scopes: Mapping[str, set[str]], found: list[Violation]) -> None:
    for name, where in scopes.items():
        if len(where) != 1:
            text = "no synchronisation" if not where else f"synchronisations in {' and '.join(sorted(where))}"
            _say(found, "one-scope", f"{name} has {text}; it needs them in exactly one scope", name)


def _check_nesting(reading: Reading, scopes: Mapping[str, set[str]], found: list[Violation]) -> None:
    """Pipelines that share a buffer are each in a loop of the other's scope: their depths multiply."""
    for buffer in reading.problem.graph.buffers:
        holding = [p.name for p in reading.schedule.pipelines if buffer.name in p.buffers]
        if len(holding) > 1 and not _strictly_nested(reading.problem, [scopes[name] for name in holding]):
            message = f"{buffer.name} is in {' and '.join(holding)}, whose scopes are not nested"
            _say(found, "not-nested", message, buffer.name)


def _strictly_nested(problem: WarpProblem, used: Sequence[set[str]]) -> bool:
    """Whether the known scopes of these sets are nested in one another, one per set."""
    paths = [problem.source.path_to(scope) for scope in sorted(set().union(*used)) if scope in problem.scopes]
    inside = all(left[-1] in right or right[-1] in left for left in paths for right in paths)
    return inside and len({len(path) for path in paths}) == len(used)


def _check_owners(reading: Reading, found: list[Violation]) -> None:
    for pipeline in reading.schedule.pipelines:
        roles: dict[SyncKind, list[str]] = {kind: [] for kind in SyncKind}
        for (_, role), body in reading.bodies.items():
            for instruction in body:
                if isinstance(instruction, Sync) and instruction.pipeline == pipeline.name:
                    roles[instruction.sync].append(role)
        producers = {*roles[SyncKind.PRODUCER_ACQUIRE], *roles[SyncKind.PRODUCER_COMMIT]}
        consumers = {*roles[SyncKind.CONSUMER_WAIT], *roles[SyncKind.CONSUMER_RELEASE]}
        if len(producers) != 1 or len(consumers) != 1 or producers == consumers:
            message = (
                f"{pipeline.name} is filled by {_list(producers)} and used by {_list(consumers)}; "
                "it needs one producer role and one other consumer role"
            )
            _say(found, "one-producer-one-consumer", message, pipeline.name)
        scope = reading.scope_of.get(pipeline.name, ROOT)
        commits, releases = len(roles[SyncKind.PRODUCER_COMMIT]), len(roles[SyncKind.CONSUMER_RELEASE])
        if scope != ROOT and commits != releases:
            message = f"{pipeline.name} commits {commits} times and releases {releases} times per iteration of {scope}"
            _say(found, "parity-diverges", message, pipeline.name)


def _check_spans(reading: Reading, found: list[Violation]) -> None:
    for (scope, role), body in reading.bodies.items():
        opened: dict[str, SyncKind] = {}
        for instruction in body:
            if not isinstance(instruction, Sync):
                continue
            name, kind = instruction.pipeline, instruction.sync
            if kind in OPENING:
                if name in opened:
                    _say(found, "opened-twice", f"{role} opens {name} twice in {scope}", name)
                opened[name] = kind
            elif name not in opened or (opened[name] in PRODUCING) != (kind in PRODUCING):
                _say(
                    found, "closed-unopened", f"{role} has {kind.value} of {name} in {scope} without its opening", name
                )
                opened.pop(name, None)
            else:
                del opened[name]
        for name in opened:
            _say(found, "left-open", f"{role} leaves {name} open at the end of {scope}", name)
        for span in reading.spans(scope, role):
            items = [i.id for i in body[span.opened + 1 : span.close] if isinstance(i, OpRef)]
            wanted = set(reading.buffers_of(span.pipeline))
            if not any(reading.touched(item, role) & wanted for item in items):
                side = "producer" if span.producing else "consumer"
                _say(
                    found, "no-work", f"{role} opens {span.pipeline} in {scope} as {side} and does nothing in it", scope
                )


def _check_coverage(reading: Reading, found: list[Violation]) -> None:
    for op in reading.problem.graph.ops:
        owners = set()
        for access in (*op.reads, *op.writes):
            guarding = [
                pipeline
                for pipeline in reading.protecting(access.buffer)
                if reading.scope_of[pipeline.name] in reading.problem.source.path_to(op.scope)
            ]
            if not guarding:
                if reading.protecting(access.buffer):
                    message = f"{op.id} touches {access.buffer} outside the scope of its pipeline"
                    _say(found, "outside-scope", message, op.id)
                continue
            if access in op.writes:
                owners.add(guarding[-1].name)
                _check_observed(reading, op, access.buffer, guarding[-1].name, found)
            for role in reading.placement.get(op.id, ()):
                inner = guarding[-1].name
                open_spans = {
                    p.name: span for p in guarding if (span := _covering(reading, op.scope, op.id, role, p.name))
                }
                if inner not in open_spans:
                    message = f"{role} touches {access.buffer} in {op.id} outside an open span of {inner}"
                    _say(found, "outside-span", message, op.id)
                elif open_spans[inner] == "producing" and len(open_spans) < len(guarding):
                    message = f"{role} fills {access.buffer} in {op.id} without holding its enclosing pipeline"
                    _say(found, "enclosing-span", message, op.id)
        if len(owners) > 1:
            _say(found, "writes-two-pipelines", f"{op.id} writes buffers of {_list(owners)}; split it", op.id)


def _check_observed(reading: Reading, op: Op, buffer: str, pipeline: str, found: list[Violation]) -> None:
    """An asynchronous operation's completion needs a barrier that its own role signals (MWS:1309-1341)."""
    if op.issue is Issue.BLOCKING:
        return
    adds = op.gemm is not None and buffer in {access.buffer for access in op.reads}
    for role in reading.placement.get(op.id, ()):
        side = _covering(reading, op.scope, op.id, role, pipeline)
        if side != "producing" and not (side and adds):
            message = (
                f"{role} starts {op.id} into {buffer} outside the producer's side of {pipeline}; "
                "no barrier waits for its completion"
            )
            _say(found, "asynchronous-unobserved", message, op.id)


def _covering(reading: Reading, op_scope: str, op_id: str, role: str, pipeline: str) -> str:
    """``producing`` or ``consuming`` if the role holds the pipeline around this operation, else an empty text."""
    scope = reading.scope_of[pipeline]
    path = (*reading.problem.source.path_to(op_scope), op_id)
    item = path[path.index(scope) + 1]
    body = reading.bodies.get((scope, role), ())
    places = [n for n, instruction in enumerate(body) if isinstance(instruction, OpRef) and instruction.id == item]
    for span in reading.spans(scope, role):
        if span.pipeline == pipeline and places and span.opened < places[0] < span.close:
            return "producing" if span.producing else "consuming"
    return ""


def _list(names: set[str]) -> str:
    return " and ".join(sorted(names)) or "no role"
