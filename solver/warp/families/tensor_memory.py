"""Tensor memory is allocated in columns: a power of two, at least 32, over 128 lanes, 512 in total, versions included.

Source: rule book 1.11; TileLang 0.1.15 wheel, ``src/cuda/transform/lower_shared_tmem.cc:131-145, 334-337, 509-515``.
"""

from math import prod

from warpwright.solver.device.tensor_memory import columns, tensor_buffers
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "tensor_memory"


def build(enc: WarpEncoding) -> None:
    """Columns of all buffers with their versions; no lane beyond the last."""
    problem, model, total = enc.problem, enc.model, linear()
    for buffer in tensor_buffers(problem.graph):
        lanes = prod(buffer.shape[:1])
        model.at_most(linear(constant=lanes), problem.device.tensor_lanes, note=f"{buffer.name} has {lanes} rows")
        counted = enc.versions_is.get(buffer.name)
        if counted is None:
            total += columns(problem.device, buffer, 1)
            continue
        total += linear(*((columns(problem.device, buffer, n), literal.var) for n, literal in counted.items()))
    limit = problem.device.tensor_columns
    model.at_most(total, limit, note=f"tensor memory within {limit} columns")


def check(reading: Reading) -> tuple[Violation, ...]:
    """Lanes of each buffer, columns of all."""
    found, problem, total = [], reading.problem, 0
    for buffer in tensor_buffers(problem.graph):
        if prod(buffer.shape[:1]) > problem.device.tensor_lanes:
            message = f"{buffer.name} has {buffer.shape[0]} rows; there are {problem.device.tensor_lanes} lanes"
            found.append(Violation(NAME, "too-many-lanes", message, buffer.name))
        total += columns(problem.device, buffer, reading.versions(buffer.name))
    if total > problem.device.tensor_columns:
        message = f"{total} columns of tensor memory; there are {problem.device.tensor_columns}"
        found.append(Violation(NAME, "too-many-columns", message))
    return tuple(found)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Columns by buffer, for kernels that use tensor memory."""
    if not tensor_buffers(problem.graph):
        return ()
    count = (lambda name: 1) if reading is None else reading.versions
    held = tuple((b.name, columns(problem.device, b, count(b.name))) for b in tensor_buffers(problem.graph))
    used = sum(amount for _, amount in held)
    return (Fact("tensor memory", used, problem.device.tensor_columns, "columns", held),)
