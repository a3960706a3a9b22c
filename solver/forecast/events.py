"""The discrete-event core: instruction streams, fluid jobs on shared units, mbarriers with parity. No solver, no chance.

A job needs amounts of several units at once (a matrix product needs the tensor core and shared memory). All running jobs
share the units by progressive filling: every job speeds up equally until one of its units is full. Loads go through one
first-in-first-out queue, as the TMA works. Time is in cycles; equal inputs give equal outputs.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from warpwright.solver.device.operation_costs import OperationCost
from warpwright.solver.forecast.result import TimelineEvent, UnitLoad

__all__ = [
    "Arrive",
    "Async",
    "Barrier",
    "Commit",
    "Drain",
    "EventSimulation",
    "Mark",
    "RunStep",
    "Stream",
    "SyncStep",
    "WaitStep",
]

EPSILON = 1e-6


@dataclass(eq=False, slots=True)
class Barrier:
    """An mbarrier: a phase completes after ``expected`` arrivals; ``wait(parity)`` passes by the hardware's parity.

    Waiting streams see a completed phase ``latency`` cycles later; a stream that comes after that waits for nothing.
    """

    name: str
    expected: int
    latency: float = 0.0
    completed: int = 0
    """Phases that waiting streams can see."""
    pending: int = 0

    def passes(self, parity: int) -> bool:
        """Whether the phase of this parity has completed (PTX ISA, mbarrier.try_wait.parity)."""
        return self.completed % 2 != parity

    def arrive(self) -> bool:
        """Counts one arrival; True if it completes the phase."""
        self.pending += 1
        if self.pending < self.expected:
            return False
        self.pending = 0
        return True


@dataclass(frozen=True, slots=True)
class RunStep:
    """Blocking: the stream continues after the job and its tail."""

    job: OperationCost


@dataclass(frozen=True, slots=True)
class Async:
    """Starts the job and continues at once; ``group`` collects jobs that a later Commit or Drain refers to."""

    job: OperationCost
    group: str


@dataclass(frozen=True, slots=True)
class Commit:
    """Arrives on the barrier as soon as this stream's earlier jobs of the group are finished."""

    barrier: Barrier
    group: str


@dataclass(frozen=True, slots=True)
class Arrive:
    """Arrives on the barrier now."""

    barrier: Barrier


@dataclass(frozen=True, slots=True)
class WaitStep:
    """Waits until a phase of the barrier can be seen."""

    barrier: Barrier
    parity: int
    cause: str


@dataclass(frozen=True, slots=True)
class Drain:
    """Waits until at most ``allowed`` of this stream's jobs of a group are unfinished."""

    group: str
    cause: str
    allowed: int = 0


@dataclass(frozen=True, slots=True)
class SyncStep:
    """A thread barrier of a fixed set of streams (``size`` of them, named ``name``)."""

    name: str
    size: int
    latency: float


@dataclass(frozen=True, slots=True)
class Mark:
    """Records the time: end of step ``step`` of a loop."""

    loop: str
    step: int


Instruction = RunStep | Async | Commit | Arrive | WaitStep | Drain | SyncStep | Mark


@dataclass(eq=False, slots=True)
class Stream:
    """One warpgroup (or single issuing warp) with its instructions; ``start`` delays its first one."""

    name: str
    role: str
    instructions: list[Instruction]
    start: float = 0.0
    position: int = 0
    done: bool = False
    blocked_on: str = ""
    blocked_since: float = 0.0
    groups: dict[str, list["_Running"]] = field(default_factory=dict)
    marks: dict[tuple[str, int], float] = field(default_factory=dict)
    stalls: list[tuple[float, float, str]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Running:
    job: OperationCost
    stream: Stream
    blocking: bool
    started: float
    remaining: float
    finished: bool = False
    commits: list[Barrier] = field(default_factory=list)
    begun: float = -1.0
    """When it began to use units, after its lead and its place in a queue; negative before."""
    left: float = -1.0
    """When it stopped to use units; its tail follows."""


class EventSimulation:
    """Simulates streams to their end, or until no stream can continue."""

    def __init__(
        self,
        streams: list[Stream],
        *,
        side_by_side: frozenset[str] = frozenset(),
        timeline: int = 0,
        traced: bool = False,
    ) -> None:
        """``side_by_side`` names queues of which each stream has its own: streams share the units, a stream's jobs take turns.

        ``timeline`` is how many events are kept; with ``traced`` also how much of each unit is used, and when.
        """
        self.streams = streams
        self._side_by_side = side_by_side
        self.now = 0.0
        self.busy: dict[str, float] = {}
        self.events: list[TimelineEvent] = []
        self.loads: dict[str, list[UnitLoad]] = {}
        """How much of each unit is used, in spans without gaps of use; only if traced."""
        self.snapshots: dict[tuple[str, int], dict[str, float]] = {}
        self._timeline = timeline
        self._traced = traced
        self._active: list[_Running] = []
        self._queues: defaultdict[tuple[str, Stream | None], deque[_Running]] = defaultdict(deque)
        self._timers: list[tuple[float, int, Stream | _Running | Barrier]] = []
        self._serial = 0
        self._ready: deque[Stream] = deque()
        self._waiting: dict[Barrier, list[tuple[Stream, WaitStep]]] = {}
        self._syncing: dict[str, list[Stream]] = {}
        self._draining: list[tuple[Stream, Drain]] = []
        self._speeds: dict[tuple[OperationCost, ...], tuple[float, ...]] = {}

    def run(self) -> float:
        """Simulates to the end; returns the cycle at which the last stream finished. Unfinished streams mean deadlock."""
        for stream in self.streams:
            self._at(stream.start, stream)
        while True:
            while self._ready:
                self._step(self._ready.popleft())
            if not self._timers and not self._active:
                break
            self._advance()
        return self.now

    def stuck(self) -> tuple[str, ...]:
        """What each unfinished stream waits for."""
        return tuple(f"{s.name} waits for {s.blocked_on or 'nothing'}" for s in self.streams if not s.done)

    def _at(self, time: float, item: "Stream | _Running | Barrier") -> None:
        heapq.heappush(self._timers, (time, self._serial, item))
        self._serial += 1

    def _advance(self) -> None:
        speeds = self._shares()
        step = float("inf")
        for running, speed in zip(self._active, speeds, strict=True):
            step = min(step, running.remaining / speed)
        until = self.now + step
        if self._timers and self._timers[0][0] < until:
            until = self._timers[0][0]
        elapsed = max(0.0, until - self.now)
        busy = self.busy
        finished: list[_Running] = []
        if self._traced and elapsed > 0.0:
            self._load(speeds, until)
        for running, speed in zip(self._active, speeds, strict=True):
            running.remaining -= speed * elapsed
            share = speed * elapsed
            for unit, rate in running.job.rates:
                busy[unit] = busy.get(unit, 0.0) + rate * share
            if running.remaining <= EPSILON:
                finished.append(running)
        self.now = until
        for running in finished:
            running.left = until
            self._active.remove(running)
            if running.job.queue:
                self._leave(running)
            if running.job.tail > 0:
                self._at(self.now + running.job.tail, running)
            else:
                self._finish(running)
        while self._timers and self._timers[0][0] <= self.now + EPSILON:
            item = heapq.heappop(self._timers)[2]
            if isinstance(item, Stream):
                self._ready.append(item)
            elif isinstance(item, Barrier):
                self._show(item)
            elif item.remaining <= EPSILON:
                self._finish(item)
            else:
                self._enter(item)

    def _load(self, speeds: Sequence[float], until: float) -> None:
        """Adds the time until then to the traces of all units that are used in it."""
        used: dict[str, float] = {}
        for running, speed in zip(self._active, speeds, strict=True):
            for unit, rate in running.job.rates:
                used[unit] = used.get(unit, 0.0) + rate * speed
        for unit, share in used.items():
            spans = self.loads.setdefault(unit, [])
            last = spans[-1] if spans else None
            if last is not None and last.end >= self.now - EPSILON and abs(last.share - share) <= EPSILON:
                spans[-1] = UnitLoad(last.start, until, last.share)
            else:
                spans.append(UnitLoad(self.now, until, share))

    def _enter(self, running: _Running) -> None:
        if not running.job.queue:
            self._begin(running)
            return
        queue = self._queue(running)
        queue.append(running)
        if len(queue) == 1:
            self._begin(running)

    def _begin(self, running: _Running) -> None:
        running.begun = self.now
        self._active.append(running)

    def _leave(self, running: _Running) -> None:
        queue = self._queue(running)
        queue.popleft()
        if queue:
            self._begin(queue[0])

    def _queue(self, running: _Running) -> deque[_Running]:
        name = running.job.queue
        return self._queues[name, running.stream if name in self._side_by_side else None]

    def _shares(self) -> tuple[float, ...]:
        """Progress per cycle of each active job, in its own alone-cycles: 1 is as fast as alone."""
        jobs = tuple(running.job for running in self._active)
        if jobs in self._speeds:
            return self._speeds[jobs]
        rates = [job.rates for job in jobs]
        speeds = [0.0] * len(jobs)
        free: dict[str, float] = {}
        rising = set(range(len(jobs)))
        while rising:
            load: dict[str, float] = {}
            for index in sorted(rising):
                for unit, rate in rates[index]:
                    load[unit] = load.get(unit, 0.0) + rate
            step = min(1.0 - speeds[index] for index in rising)
            for unit, rate in load.items():
                step = min(step, free.get(unit, 1.0) / rate)
            for index in rising:
                speeds[index] += step
            for unit, rate in load.items():
                free[unit] = free.get(unit, 1.0) - rate * step
            full = {unit for unit, left in free.items() if left <= EPSILON}
            rising = {
                index
                for index in rising
                if speeds[index] < 1.0 - EPSILON and not any(unit in full for unit, _ in rates[index])
            }
        self._speeds[jobs] = tuple(speeds)
        return self._speeds[jobs]

    def _start(self, stream: Stream, job: OperationCost, *, blocking: bool) -> _Running:
        running = _Running(job, stream, blocking, self.now, max(job.alone, EPSILON * 2))
        if job.lead > 0:
            self._at(self.now + job.lead, running)
        elif job.alone <= EPSILON:
            running.remaining = 0.0
            self._at(self.now + job.tail, running)
        else:
            self._enter(running)
        return running

    def _finish(self, running: _Running) -> None:
        running.finished = True
        if len(self.events) < self._timeline:
            lane = running.stream.name if running.blocking else running.job.label.partition(" ")[0]
            used = (running.begun, running.left) if running.begun >= 0 else None
            self.events.append(
                TimelineEvent(lane, running.started, self.now, running.job.label, "", running.stream.name, used)
            )
        for barrier in running.commits:
            self._signal(barrier)
        if running.blocking:
            self._ready.append(running.stream)
        if self._draining:
            still: list[tuple[Stream, Drain]] = []
            for stream, drain in self._draining:
                if self._unfinished(stream, drain.group) <= drain.allowed:
                    self._resume(stream, 0.0)
                else:
                    still.append((stream, drain))
            self._draining = still

    def _unfinished(self, stream: Stream, group: str) -> int:
        jobs = [running for running in stream.groups.get(group, ()) if not running.finished]
        stream.groups[group] = jobs
        return len(jobs)

    def _signal(self, barrier: Barrier) -> None:
        if not barrier.arrive():
            return
        if barrier.latency > 0:
            self._at(self.now + barrier.latency, barrier)
        else:
            self._show(barrier)

    def _show(self, barrier: Barrier) -> None:
        """A completed phase becomes visible to those who wait for it."""
        barrier.completed += 1
        still: list[tuple[Stream, WaitStep]] = []
        for stream, wait in self._waiting.pop(barrier, []):
            if barrier.passes(wait.parity):
                self._resume(stream, 0.0)
            else:
                still.append((stream, wait))
        if still:
            self._waiting[barrier] = still

    def _block(self, stream: Stream, cause: str) -> None:
        stream.blocked_on, stream.blocked_since = cause, self.now

    def _resume(self, stream: Stream, latency: float) -> None:
        end = self.now + latency
        if end > stream.blocked_since:
            stream.stalls.append((stream.blocked_since, end, stream.blocked_on))
            if len(self.events) < self._timeline:
                self.events.append(
                    TimelineEvent(stream.name, stream.blocked_since, end, "wait", stream.blocked_on, stream.name)
                )
        stream.blocked_on = ""
        if latency > 0:
            self._at(end, stream)
        else:
            self._ready.append(stream)

    def _step(self, stream: Stream) -> None:
        """Issues instructions of one stream until it must wait."""
        while stream.position < len(stream.instructions):
            instruction = stream.instructions[stream.position]
            stream.position += 1
            match instruction:
                case RunStep(job):
                    self._start(stream, job, blocking=True)
                    return
                case Async(job, group):
                    stream.groups.setdefault(group, []).append(self._start(stream, job, blocking=False))
                case Commit(barrier, group):
                    if self._unfinished(stream, group):
                        stream.groups[group][-1].commits.append(barrier)
                    else:
                        self._signal(barrier)
                case Arrive(barrier):
                    self._signal(barrier)
                case WaitStep(barrier, parity, cause):
                    if not barrier.passes(parity):
                        self._block(stream, cause)
                        self._waiting.setdefault(barrier, []).append((stream, instruction))
                        return
                case Drain(group, cause, allowed):
                    if self._unfinished(stream, group) > allowed:
                        self._block(stream, cause)
                        self._draining.append((stream, instruction))
                        return
                case SyncStep(name, size, latency):
                    waiting = self._syncing.setdefault(name, [])
                    self._block(stream, "sync")
                    waiting.append(stream)
                    if len(waiting) == size:
                        del self._syncing[name]
                        for member in waiting:
                            self._resume(member, latency)
                    return
                case Mark(loop, step):
                    stream.marks[(loop, step)] = self.now
                    self.snapshots.setdefault((f"{stream.name}/{loop}", step), dict(self.busy))
        stream.done = True
