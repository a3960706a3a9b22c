"""Loads as they run: in a pipeline, or as a plain copy of the role that uses the data."""

from dataclasses import replace

from warpwright.solver.domain.kernel import Issue, Op, OpKind, Unit

__all__ = ["LOADS", "plain_copy"]

LOADS = (OpKind.TMA_LOAD, OpKind.ASYNC_LOAD)


def plain_copy(op: Op, load_latency_percent: int) -> Op:
    """The load as it runs outside all pipelines: blocking, by all threads, from issue to the last byte's arrival.

    ``load_latency_percent`` is the load latency when all SMs load, in percent of the idle one.
    """
    cycles = max((use.cycles for use in op.uses), default=1)
    uses = tuple(replace(use, unit=Unit.LSU) for use in op.uses if use.cycles == cycles)[:1]
    latency = max(-(-op.latency_cycles * load_latency_percent // 100), cycles)
    return replace(
        op, kind=OpKind.COPY, issue=Issue.BLOCKING, latency_cycles=latency, uses=uses, through_registers=True
    )
