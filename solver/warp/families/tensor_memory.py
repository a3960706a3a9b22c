"""Tensor memory is allocated in columns: powers of two, at least 32, over 128 lanes, 512 in total, versions included.

A product into it needs a tcgen05 instruction for its shape (:mod:`warpwright.solver.device.tcgen05`); how buffers are packed into
allocations is TileLang's plan (:mod:`warpwright.solver.device.tensor_memory`). All other accesses, ``tcgen05.ld`` and
``tcgen05.st``, are of whole, aligned warpgroups: a warp reaches only the quarter of the lanes that its number modulo four gives.
Source: rule book 1.11; TileLang 0.1.15 wheel, ``src/cuda/transform/lower_shared_tmem.cc:131-245, 320-350, 509-515``,
``src/cuda/op/copy.cc:629-640``; PTX ISA, "Tensor Memory Access Restrictions".
"""

from collections.abc import Iterator, Mapping

from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.device.tcgen05 import atom, why_none
from warpwright.solver.device.tensor_memory import allocated, columns, tensor_buffers
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import Memory, Op
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal, linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "tensor_memory"


def build(enc: WarpEncoding) -> None:
    """An instruction for each product; no combination of versions that does not fit; copies by whole warpgroups."""
    problem, model = enc.problem, enc.model
    for op in _without_instruction(problem):
        model.at_least(linear(constant=0), 1, note=f"{op.id}: {_why(op)}")
    _build_columns(enc)
    for role in enc.structure.roles:
        if role == CONSUMER or not any(role in enc.structure.placement[op.id] for op in _copies(problem)):
            continue
        for what, value in (("warps", enc.warps[role]), ("first warp", enc.first_warp[role])):
            whole = model.integer(f"{role} {what} in warpgroups", 0, max(enc.groups))
            model.equal(value - WARPGROUP * whole, 0, note=f"{role} copies tensor memory: whole warpgroups")


def _build_columns(enc: WarpEncoding) -> None:
    """Forbids each combination of versions whose allocations are too large, as early in the list of buffers as it shows."""
    problem, limit = enc.problem, _limit(enc.problem)
    buffers = tensor_buffers(problem.graph)
    sizes = [columns(problem.graph, problem.device, buffer) for buffer in buffers]
    choices = [_choices(enc, buffer.name) for buffer in buffers]
    note = f"tensor memory within {limit} columns"

    def walk(number: int, needs: list[int], chosen: list[Literal]) -> None:
        least = sum(needs) + sum(sizes[number:])
        if least > limit or (number == len(buffers) and allocated(problem.device, needs) > limit):
            enc.model.any_of([literal.negated() for literal in chosen], note=note)
        elif number < len(buffers):
            for versions, literal in choices[number].items():
                more = [] if literal is None else [literal]
                walk(number + 1, [*needs, versions * sizes[number]], [*chosen, *more])

    walk(0, [], [])


def _choices(enc: WarpEncoding, buffer: str) -> dict[int, Literal | None]:
    """Numbers of versions of a buffer with their literals; one version, without a choice, if it does not change hands."""
    counted = enc.versions_is.get(buffer)
    return {1: None} if counted is None else dict(counted)


def check(reading: Reading) -> tuple[Violation, ...]:
    """Instructions of all products, columns of all buffers, warps of all copies."""
    found, problem = [], reading.problem
    for op in _without_instruction(problem):
        found.append(Violation(NAME, "no-instruction", f"{op.id}: {_why(op)}", op.id))
    total = allocated(problem.device, [amount for _, amount in _needs(problem, reading)])
    if total > _limit(problem):
        blocks = problem.graph.min_blocks_per_sm
        each = f" for each of {blocks} blocks" if blocks > 1 else ""
        message = f"{total} columns of tensor memory; there are {_limit(problem)}{each}"
        found.append(Violation(NAME, "too-many-columns", message))
    for op in _copies(problem):
        for name in reading.placement.get(op.id, ()):
            role = reading.roles.get(name)
            if role is not None and (role.warps % WARPGROUP or role.warps_lo % WARPGROUP):
                warps = f"{name} has warps {role.warps_lo}..{role.warps_hi}"
                message = f"{op.id} copies tensor memory, which takes whole warpgroups; {warps}"
                found.append(Violation(NAME, "whole-warpgroups", message, op.id))
    return tuple(found)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Columns by buffer, for kernels that use tensor memory."""
    if not tensor_buffers(problem.graph):
        return ()
    held = _needs(problem, reading)
    used = allocated(problem.device, [amount for _, amount in held])
    return (Fact("tensor memory", used, _limit(problem), "columns", held),)


def _limit(problem: WarpProblem) -> int:
    """Columns that a block may allocate if as many blocks as the kernel requests shall run on one multiprocessor."""
    return problem.device.tensor_columns // max(problem.graph.min_blocks_per_sm, 1)


def _needs(problem: WarpProblem, reading: Reading | None) -> tuple[tuple[str, int], ...]:
    """Columns of each buffer with its versions: those of the schedule, or the pinned ones."""
    pinned = {pin.buffer: pin.depth for pin in problem.pins.depths}
    return tuple(
        (b.name, columns(problem.graph, problem.device, b) * _versions(reading, pinned, b.name))
        for b in tensor_buffers(problem.graph)
    )


def _versions(reading: Reading | None, pinned: Mapping[str, int], buffer: str) -> int:
    return pinned.get(buffer, 1) if reading is None else reading.versions(buffer)


def _without_instruction(problem: WarpProblem) -> Iterator[Op]:
    for op in problem.graph.ops:
        if op.gemm is not None and op.gemm.c_memory is Memory.TENSOR and atom(op.gemm) is None:
            yield op


def _why(op: Op) -> str:
    return why_none(op.gemm) if op.gemm is not None else ""


def _copies(problem: WarpProblem) -> list[Op]:
    """Operations other than products that touch tensor memory."""
    held = {buffer.name for buffer in tensor_buffers(problem.graph)}
    return [
        op
        for op in problem.graph.ops
        if op.gemm is None and held & {access.buffer for access in (*op.reads, *op.writes)}
    ]
