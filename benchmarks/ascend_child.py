"""Child of :mod:`benchmarks.ascend`: both schedulers on one call, in one process, one JSON line each way.

Imports TileLang (only here): its scheduler module is ``tilelang.ascend.transform.z3_scheduler``.
"""

import json
import statistics
import sys
import time
from typing import Any

from warpwright.solver.ascend.answer import SchedulerAnswer, recomputed_versions
from warpwright.solver.ascend.families import check_answer
from warpwright.solver.ascend.problem import LoopProblem, Problem, problem_from_call
from warpwright.solver.ascend.solve import solve_problem


def main() -> None:
    """Serve calls from standard input until it ends."""
    from tilelang.ascend.transform import z3_scheduler

    for line in sys.stdin:
        request = json.loads(line)
        call, repeats = request["call"], request["repeats"]
        _emit("ours", _ours(call, repeats, request["engine"]))
        if request["tilelang"]:
            _emit("tilelang", _tilelang(z3_scheduler, call, repeats))


def _emit(who: str, row: dict[str, Any]) -> None:
    print(json.dumps({"who": who, **row}), flush=True)


def _ours(call: dict[str, Any], repeats: int, engine: str) -> dict[str, Any]:
    seconds, cpu = [], []
    result = None
    for _ in range(repeats):
        begin, busy = time.perf_counter(), time.process_time()
        result = solve_problem(problem_from_call(call), engine=engine)
        seconds.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - busy)
    assert result is not None
    answer = result.answer
    return {
        "seconds": statistics.median(seconds),
        "cpu_seconds": statistics.median(cpu),
        "ii": answer.interval if answer else None,
        "length": result.length,
        "bytes": result.bytes,
        "versions": list(answer.versions) if answer else [],
        "lower_bound": result.lower_bound.cycles,
        "reason": result.lower_bound.reason,
        "proven": result.proven,
        "bytes_proven": result.bytes_proven,
        "length_proven": result.length_proven,
        "tasks": result.problem.tasks,
    }


def _tilelang(scheduler: Any, call: dict[str, Any], repeats: int) -> dict[str, Any]:
    problem = problem_from_call(call)
    seconds, cpu = [], []
    answer = None
    for _ in range(repeats):
        begin, busy = time.perf_counter(), time.process_time()
        answer = _ask(scheduler, problem)
        seconds.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - busy)
    assert answer is not None
    loop = isinstance(problem, LoopProblem)
    return {
        "seconds": statistics.median(seconds),
        "cpu_seconds": statistics.median(cpu),
        "ii": answer.interval,
        "length": answer.length(problem),
        "bytes": problem.bytes_of(answer.versions) if isinstance(problem, LoopProblem) else 0,
        "versions": list(answer.versions) if loop else [],
        "broken_rules": len(check_answer(problem, answer)),
    }


def _ask(scheduler: Any, problem: Problem) -> SchedulerAnswer:
    common = (list(problem.latencies), list(problem.iis), list(problem.resource_flags))
    if not isinstance(problem, LoopProblem):
        starts, _ = scheduler.z3_schedule_python(
            *common,
            list(problem.data_deps),
            list(problem.resource_deps),
            owner_exclusion_deps=list(problem.owner_exclusion_deps),
            pipe_order_deps=list(problem.pipe_order_deps),
        )
        return SchedulerAnswer(None, tuple(int(s) for s in starts))
    starts, versions, interval = scheduler.z3_schedule_loop_python(
        problem.num_stages,
        *common,
        list(problem.data_deps),
        list(problem.resource_deps),
        list(problem.owner_exclusion_deps),
        list(problem.pipe_order_deps),
        list(problem.buffer_sizes),
        [[g.limit_bytes, *g.buffers] for g in problem.memory_groups],
        stage_order_deps=list(problem.stage_order_deps),
        enable_offset=problem.enable_offset,
        manual_stages=list(problem.manual_stages),
        manual_schedule=problem.manual_schedule,
        seed=42,
    )
    plain = tuple(int(s) for s in starts)
    counts = tuple(int(v) for v in versions)
    return SchedulerAnswer(int(interval), plain, counts or recomputed_versions(problem, int(interval), plain))


if __name__ == "__main__":
    main()
