"""Least times of operations in a role's streams, in whole cycles: what the forecast plays, without what others add to it.

Warpgroups that run the same program either take turns at the tensor core, so that one computes while another multiplies, or
run in step and share every unit. Hardware is in between (``phase`` of the machine); the forecast mixes both plays by that
share, and so do these times. Each is a lower bound of the mixed play, rounded down: a schedule's interval in these times is
never more than its forecast.
"""

from dataclasses import dataclass
from functools import cached_property

from warpwright.solver.device.machine import Machine
from warpwright.solver.device.operation_costs import ISSUE_CYCLES, OperationCosts
from warpwright.solver.device.stream_steps import Crew, StreamStep, crew_of, is_plain, step_of
from warpwright.solver.device.traffic import misses
from warpwright.solver.device.trips import Trips
from warpwright.solver.domain.kernel import KernelGraph, Op, OpKind

__all__ = ["StreamTimes"]

EPSILON = 1e-6


@dataclass(eq=False)
class StreamTimes:
    """Times of one kernel's operations on one machine. Operations are given as they run (a load may be a plain copy)."""

    graph: KernelGraph
    machine: Machine
    trips: Trips

    def __post_init__(self) -> None:
        self.costs = OperationCosts(self.graph, self.machine)
        self._ops = {op.id: op for op in self.graph.ops}
        self._crews: dict[tuple[tuple[str, ...], int], Crew] = {}
        self._steps: dict[tuple[str, Crew, bool, bool], StreamStep] = {}

    @cached_property
    def alone(self) -> dict[str, float]:
        """Share of loaded bytes that comes from memory with one block on every SM. More blocks miss less often each, but
        together at least as much.
        """
        return misses(self.graph, self.trips, min(self.trips.blocks, self.machine.sms), self.machine.l2_capacity)

    @cached_property
    def crowded(self) -> dict[str, float]:
        """The same share with as many blocks as an SM can ever hold: the least."""
        most = self.machine.sms * self.machine.limits.sm_blocks
        return misses(self.graph, self.trips, min(self.trips.blocks, most), self.machine.l2_capacity)

    def crew(self, ops: tuple[Op, ...], warps: int) -> Crew:
        """Streams of a role that runs these operations."""
        key = (tuple(op.id for op in ops), warps)
        if key not in self._crews:
            plain = [op.id for op in ops if self._plain(op)]
            self._crews[key] = crew_of(self.costs, ops, warps, plain)
        return self._crews[key]

    def hold(self, op: Op, crew: Crew) -> int:
        """How long the operation keeps one stream at least."""
        return max(ISSUE_CYCLES, _whole(self.mixed(*self.held(op, crew))))

    def result(self, op: Op, crew: Crew) -> int:
        """From its start until its result is there for the stream that started it."""
        step = self._step(op, crew, least=True)
        if step.holds:
            return max(self.hold(op, crew), _whole(self.mixed(*self.held(op, crew)) + self._later(step)))
        return max(ISSUE_CYCLES, _whole(step.job.lead + self.mixed(*self._spans(op, step, crew)) + step.job.tail))

    def finished(self, op: Op, crew: Crew) -> int:
        """From its start in the first stream until it is over in all of them: a barrier that all arrive on completes then."""
        step = self._step(op, crew, least=True)
        over = self._over(op, step, crew) + self._later(step)
        return max(ISSUE_CYCLES, _whole(step.job.lead + over))

    def queued(self, op: Op, crew: Crew) -> int:
        """How long a bulk load keeps the queue of loads; 0 for what goes through none."""
        step = self._step(op, crew, least=True)
        return _whole(step.job.alone) if op.kind is OpKind.TMA_LOAD and not step.holds else 0

    def held(self, op: Op, crew: Crew) -> tuple[float, float]:
        """Cycles for which it keeps one stream: with warpgroups that take turns, and in step."""
        step = self._step(op, crew, least=True)
        if not step.holds:
            return ISSUE_CYCLES, ISSUE_CYCLES
        together = self._over(op, step, crew)
        if step.barrier_before or step.barrier_after:
            return together, together
        apart = self._spans(op, step, crew)[0] + step.job.tail
        return apart, together

    def copied(self, op: Op, crew: Crew) -> float:
        """Cycles of a plain copy in the stream that is the last one at its barrier, from there until all have passed it."""
        step = self._step(op, crew, least=True)
        return (
            self._spans(op, step, crew)[0] + step.job.tail + step.behind + step.barrier_after * self.machine.sync_cycles
        )

    def demands(self, op: Op, crew: Crew) -> dict[str, float]:
        """Cycles of each unit for the whole block, with one block on the SM."""
        step = self._step(op, crew, least=False)
        count = self._count(op, crew)
        return {unit: count * amount for unit, amount in step.job.demands}

    def queue(self, op: Op, crew: Crew) -> tuple[str, float]:
        """The queue that it goes through (empty if none) and the cycles for which the whole block keeps it."""
        job = self._step(op, crew, least=False).job
        return job.queue, job.alone * self._count(op, crew)

    def release(self, crew: Crew) -> tuple[float, float]:
        """Cycles of a stream for its arrivals on a barrier: alone, and all streams in step."""
        cycles = self.costs.arrival_cycles(crew.warps)
        return cycles, cycles * crew.streams

    def arrived(self, crew: Crew) -> int:
        """From the first arrival of a stream on a barrier to the last one of all streams."""
        return _whole(self.mixed(*self.release(crew)))

    def step(self, op: Op, crew: Crew) -> StreamStep:
        """What one stream does for it, with one block on the SM."""
        return self._step(op, crew, least=False)

    def mixed(self, apart: float, together: float) -> float:
        """The share of both plays that the machine has."""
        return apart + self.machine.phase * (together - apart)

    def by_threads(self, op: Op) -> bool:
        """Whether it is a matrix product of a role's threads, not one that an elected thread issues into tensor memory."""
        return op.gemm is not None and not self.costs.in_tensor_memory(op)

    def _count(self, op: Op, crew: Crew) -> int:
        """How many streams do the operation: one elected thread does bulk loads and products into tensor memory."""
        return 1 if op.kind is OpKind.TMA_LOAD or self.costs.in_tensor_memory(op) else crew.streams

    def _plain(self, op: Op) -> bool:
        return is_plain(self._ops[op.id], op)

    def _step(self, op: Op, crew: Crew, *, least: bool) -> StreamStep:
        plain = self._plain(op)
        key = (op.id, crew, plain, least)
        if key not in self._steps:
            miss = (self.crowded if least else self.alone).get(op.id, 0.0)
            self._steps[key] = step_of(self.costs, op, crew, miss, plain=plain)
        return self._steps[key]

    def _spans(self, op: Op, step: StreamStep, crew: Crew) -> tuple[float, float]:
        """Cycles of the job in one stream alone, and in all streams at once."""
        count = self._count(op, crew)
        return step.job.alone, max([step.job.floor, *(count * amount for _, amount in step.job.demands)])

    def _over(self, op: Op, step: StreamStep, crew: Crew) -> float:
        """From the start in the first stream until all streams are through the step."""
        barriers = step.barrier_before + step.barrier_after
        waited = step.behind if step.waits else 0.0
        return self._spans(op, step, crew)[1] + step.job.tail + waited + barriers * self.machine.sync_cycles

    @staticmethod
    def _later(step: StreamStep) -> float:
        """Cycles after the stream has gone on until the data is there."""
        return 0.0 if step.waits else step.behind


def _whole(cycles: float) -> int:
    return int(cycles + EPSILON)
