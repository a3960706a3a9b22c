"""No role waits for ever: the synchronisations, run in emission order, let every role finish.

``check`` replays TileLang's own model: each loop runs ``max(2, deepest pipeline + 1)`` times plus its stage shift; a role's
(k+1)-th wait needs k+1 commits, its (k+1)-th acquire needs ``depth + releases >= k+1``. That is too few iterations for bodies
with stage offsets: a role that lags by two iterations may block only in the third. A second replay therefore runs as many more
iterations as the largest offset; TileLang accepts what it finds, and the kernel hangs. ``build`` adds nothing: start times
that repeat every interval and keep the ring of :mod:`warpwright.solver.warp.families.pipeline_depth` are a proof that
every wait ends. Source:
TileLang 0.1.15 wheel, MWS:1617-1717; rule book 1.8.
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import ROOT
from warpwright.solver.domain.schedule import Sync, SyncKind
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "deadlock"
LARGEST_REPLAY = 200_000
"""Limit of the events of one role's replay; deeper nests are replayed with two trips per loop, which is enough to show parity."""


def build(enc: WarpEncoding) -> None:
    """Nothing: see the module's docstring."""
    del enc


def check(reading: Reading) -> tuple[Violation, ...]:
    """Greedy execution of all roles' synchronisations, first with TileLang's number of iterations and then with all
    stage offsets.
    """
    deepest = max((pipeline.depth for pipeline in reading.schedule.pipelines), default=1)
    trips = max(2, deepest + 1)
    found = _replay(reading, trips, "waits-for-ever")
    offset = max((entry.delta for scope, role in reading.bodies for entry in reading.entries(scope, role)), default=0)
    if found or not offset:
        return found
    return _replay(reading, trips + offset, "waits-for-ever-later")


def _replay(reading: Reading, trips: int, rule: str) -> tuple[Violation, ...]:
    events = {role: _flatten(reading, ROOT, role, trips) for role in reading.roles}
    if any(len(of_role) > LARGEST_REPLAY for of_role in events.values()):
        events = {role: _flatten(reading, ROOT, role, 2) for role in reading.roles}
    counts = {(name, kind): 0 for name in reading.pipelines for kind in SyncKind}
    place = dict.fromkeys(events, 0)
    progress = True
    while progress:
        progress = False
        for role, of_role in events.items():
            while place[role] < len(of_role) and _may_go(reading, of_role[place[role]], counts):
                sync = of_role[place[role]]
                counts[sync.pipeline, sync.sync] += 1
                place[role] += 1
                progress = True
    found = []
    for role, of_role in events.items():
        if place[role] < len(of_role):
            sync = of_role[place[role]]
            message = f"{role} waits for ever at event {place[role]}: {sync.sync.value} of {sync.pipeline}"
            found.append(Violation(NAME, rule, message, role))
    return tuple(found)


def _may_go(reading: Reading, sync: Sync, counts: dict[tuple[str, SyncKind], int]) -> bool:
    done = counts[sync.pipeline, sync.sync]
    if sync.sync is SyncKind.CONSUMER_WAIT:
        return counts[sync.pipeline, SyncKind.PRODUCER_COMMIT] > done
    if sync.sync is SyncKind.PRODUCER_ACQUIRE:
        return reading.pipelines[sync.pipeline].depth + counts[sync.pipeline, SyncKind.CONSUMER_RELEASE] > done
    return True


def _flatten(reading: Reading, scope: str, role: str, trips: int) -> list[Sync]:
    """Synchronisations of a role in the order of execution, with stage offsets applied."""
    entries = reading.entries(scope, role)
    shift = max((entry.delta for entry in entries), default=0)
    times = 1 if scope == ROOT else trips
    children = {
        entry.item: _flatten(reading, entry.item, role, trips)
        for entry in entries
        if entry.item in reading.problem.scopes
    }
    events: list[Sync] = []
    for step in range(times + shift):
        for entry in entries:
            if not 0 <= step - entry.delta < times:
                continue
            if isinstance(entry.instruction, Sync):
                if entry.instruction.pipeline in reading.pipelines:
                    events.append(entry.instruction)
            else:
                events += children.get(entry.item, [])
    return events


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """This family has no numbers."""
    del problem, reading
    return ()
