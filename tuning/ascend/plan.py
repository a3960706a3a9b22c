"""Answers TileLang's scheduler calls of one lowering: solving them, or replaying a schedule; every answer verified first.

Plain Python. The layout read just before AutoSchedule says which scope a call belongs to and what its tasks and free
buffers are called; AutoSchedule asks inner loops first.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from warpwright.lowering.ascend.layout import Layout, LoopNode, SchedulerTask, containers
from warpwright.solver.ascend.answer import SchedulerAnswer
from warpwright.solver.ascend.conflicts import conflicts, infeasible_call
from warpwright.solver.ascend.families import check_answer
from warpwright.solver.ascend.optimise import NodeLimits
from warpwright.solver.ascend.problem import LoopProblem, Problem, problem_from_call
from warpwright.solver.ascend.profile_limits import within_profile
from warpwright.solver.ascend.solve import CallResult, solve_problem
from warpwright.solver.domain import (
    ROOT,
    BufferPin,
    BufferSchedule,
    Conflict,
    HardwareProfile,
    LoopSchedule,
    NotApplicable,
    SchedulerCall,
    TaskTime,
    WarpwrightError,
)

__all__ = ["Asked", "InfeasibleKernel", "Planner", "Replay", "ScheduleRefused", "Solver"]


class InfeasibleKernel(WarpwrightError):
    """Proven: no schedule exists for a scope, or for the kernel as a whole; ``message`` and ``conflicts`` have the numbers."""

    code = "ascend-infeasible"

    def __init__(self, message: str, *, place: str, conflicts: tuple[Conflict, ...]) -> None:
        super().__init__(message, place=place)
        self.conflicts = conflicts


class ScheduleRefused(WarpwrightError):
    """A schedule to be lowered breaks a rule of the live problem; TileLang would have accepted it."""

    code = "schedule-illegal"


@dataclass(frozen=True, slots=True)
class Asked:
    """One answered call."""

    call: SchedulerCall
    problem: Problem
    answer: SchedulerAnswer
    result: CallResult | None


class Policy(Protocol):
    """Who decides the answers."""

    def answer(self, call: SchedulerCall, problem: Problem) -> tuple[SchedulerAnswer, CallResult | None]:
        """The answer to one call; it may raise."""
        ...


@dataclass(slots=True)
class Planner:
    """Matches calls to scopes and keeps the answers."""

    policy: Policy | None
    """None if TileLang answers itself and is only observed."""
    pins: Mapping[str, BufferPin] = field(default_factory=dict)
    profile: HardwareProfile | None = None
    """Reduces memory limits to this device's; None keeps TileLang's."""
    unlimited: Collection[str] = ()
    """Memories whose limit the user lifted."""
    asked: list[Asked] = field(default_factory=list)
    layout: Layout | None = None
    judge: Callable[[], None] | None = None
    """Called when every scope has its answer, before TileLang goes on; it may raise."""
    _scopes: list[tuple[str, LoopNode | None, list[SchedulerTask]]] = field(default_factory=list)

    def begin(self, layout: Layout) -> None:
        """Called with the layout before the first call."""
        self.layout = layout
        self.asked = []
        self._scopes = list(containers(layout))

    def __call__(self, arguments: dict[str, Any]) -> Any:
        """Answer one call; the reply is in the hook's form."""
        call = self._named(arguments)
        problem = self._limited(problem_from_call(arguments))
        assert self.policy is not None
        answer, result = self.policy.answer(call, problem)
        violations = check_answer(problem, answer)
        if violations:
            first = violations[0]
            text = f"{_spelled(call.scope)}: {first.family}: {_spoken(first.message, call)} ({len(violations)} in all)"
            raise ScheduleRefused(text, place=_spelled(call.scope))
        self.asked.append(Asked(call, problem, answer, result))
        if self.judge is not None and not self._scopes:
            self.judge()
        if isinstance(problem, LoopProblem):
            return list(answer.starts), list(answer.versions), int(answer.interval or 0)
        return list(answer.starts)

    def observe(self, arguments: dict[str, Any], reply: Any) -> None:
        """Keep a call that TileLang's own scheduler answered, as it was answered: nothing is solved or checked."""
        call = self._named(arguments)
        starts, versions, interval = reply if arguments["kind"] == "loop" else (reply, [], None)
        answer = SchedulerAnswer(interval, tuple(starts), tuple(versions))
        self.asked.append(Asked(call, self._limited(problem_from_call(arguments)), answer, None))

    def loops(self) -> tuple[LoopSchedule, ...]:
        """The answers as loop schedules."""
        return tuple(_loop_schedule(asked) for asked in self.asked)

    def _named(self, arguments: dict[str, Any]) -> SchedulerCall:
        tasks = len(arguments["latencies"])
        while self._scopes:
            scope, loop, units = self._scopes.pop(0)
            if len(units) == tasks and (loop is not None) == (arguments["kind"] == "loop"):
                names = tuple(unit.id for unit in units)
                buffers = self._free(loop, units, arguments) if loop is not None else ()
                text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
                return SchedulerCall(scope, names, buffers, text)
            if loop is not None:
                break
        raise NotApplicable(
            f"a scheduler call with {tasks} tasks does not match any scope of the kernel",
            code="not-applicable-structure",
            place="/ir",
        )

    def _free(self, loop: LoopNode, units: list[SchedulerTask], arguments: dict[str, Any]) -> tuple[str, ...]:
        """Names of the buffers whose version count this call leaves free, in its own order: first reads, then writes."""
        assert self.layout is not None
        touched = list(dict.fromkeys([*(n for u in units for n in u.reads), *(n for u in units for n in u.writes)]))
        sizes = arguments["buffer_sizes"]
        names = [
            name
            for name in touched
            if name in loop.eligible and not (name in self.pins and self.pins[name].versions is not None)
        ]
        if [self.layout.storages[name].bytes for name in names] == sizes:
            return tuple(names)
        return _match(names, sizes, arguments, units, self.layout)

    def _limited(self, problem: Problem) -> Problem:
        if self.profile is None or not isinstance(problem, LoopProblem):
            return problem
        return within_profile(problem, self.profile, self.unlimited)


def _match(
    names: list[str], sizes: list[int], arguments: dict[str, Any], units: list[SchedulerTask], layout: Layout
) -> tuple[str, ...]:
    """Buffers by size and by the tasks that their dependences join; ``?`` where none matches."""
    left, found = list(names), []
    for index, size in enumerate(sizes):
        tasks = {t for u, v, d, _ in arguments["data_deps"] if d == -index - 1 for t in (u, v)}

        def fits(name: str, size: int = size, tasks: set[int] = tasks) -> bool:
            same = layout.storages[name].bytes == size
            return same and all(name in (*units[t].reads, *units[t].writes) for t in tasks)

        name = next((name for name in left if fits(name)), "?")
        if name != "?":
            left.remove(name)
        found.append(name)
    return tuple(found)


def _spelled(scope: str) -> str:
    return "root" if scope == ROOT else scope


def _spoken(message: str, call: SchedulerCall) -> str:
    """The message with task and buffer numbers followed by their names."""
    words = message.split(" ")
    for position, word in enumerate(words[:-1]):
        number = words[position + 1].rstrip(",.:;")
        if number.isdigit() and word in ("task", "tasks", "and") and int(number) < len(call.items):
            words[position + 1] += f" ({call.items[int(number)]})"
        elif number.isdigit() and word == "buffer" and int(number) < len(call.buffers):
            words[position + 1] += f" ({call.buffers[int(number)]})"
    return " ".join(words)


def _loop_schedule(asked: Asked) -> LoopSchedule:
    answer = asked.answer
    times = tuple(
        TaskTime(name, answer.starts[index], answer.stage(index)) for index, name in enumerate(asked.call.items)
    )
    return LoopSchedule(asked.call.scope, answer.interval, answer.length(asked.problem), times)


@dataclass(slots=True)
class Solver:
    """Solves every call. ``reserve`` takes bytes off memory groups, by scope and group name, for the rest of the kernel."""

    engine: str = "exact"
    limits: NodeLimits = field(default_factory=NodeLimits)
    reserve: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def answer(self, call: SchedulerCall, problem: Problem) -> tuple[SchedulerAnswer, CallResult | None]:
        """The best answer, with its proof.

        Raises:
            InfeasibleKernel: proven impossible, with the numbers. ScheduleRefused: nothing found within the limits.
        """
        if isinstance(problem, LoopProblem):
            groups = tuple(
                replace(g, limit_bytes=g.limit_bytes - self.reserve.get((call.scope, g.name), 0))
                for g in problem.memory_groups
            )
            problem = replace(problem, memory_groups=groups)
        result = solve_problem(problem, engine=self.engine, budget=self.limits)
        if result.answer is None:
            if result.proven:
                found = conflicts(problem, call.buffers)
                raise InfeasibleKernel(infeasible_call(call, problem), place=_spelled(call.scope), conflicts=found)
            raise ScheduleRefused(f"no schedule of {_spelled(call.scope)} within the work limit", code="solve-unknown")
        return result.answer, result


@dataclass(slots=True)
class Replay:
    """Gives the answers of a schedule, scope by scope."""

    schedule: BufferSchedule

    def answer(self, call: SchedulerCall, problem: Problem) -> tuple[SchedulerAnswer, CallResult | None]:
        """The schedule's own times; version counts that the call leaves free come from the schedule too.

        Raises:
            ScheduleRefused: the schedule lacks the scope, a task or a buffer.
        """
        loop = next((loop for loop in self.schedule.loops if loop.scope == call.scope), None)
        if loop is None:
            raise ScheduleRefused(f"the schedule has no times for scope {_spelled(call.scope)!r}", place=call.scope)
        times = {time.task: time.start_cycle for time in loop.tasks}
        missing = [name for name in call.items if name not in times]
        if missing:
            raise ScheduleRefused(f"the schedule has no time for {missing[0]!r}", place=missing[0])
        counts = {buffer.buffer: buffer.versions for buffer in self.schedule.buffers}
        versions = tuple(counts.get(name, 1) for name in call.buffers)
        starts = tuple(times[name] for name in call.items)
        return SchedulerAnswer(loop.initiation_interval_cycles, starts, versions), None
