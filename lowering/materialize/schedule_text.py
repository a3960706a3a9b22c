"""``T.annotate_ws_schedule(...)`` as Python text. Pure: domain schedule in, lines out."""

from collections.abc import Callable

from warpwright.solver.domain import ROOT, Fence, GraphError, Instruction, OpRef, ScopeProgram, WarpSchedule

__all__ = ["schedule_lines"]

_STEP = "    "


def schedule_lines(schedule: WarpSchedule, buffer_name: Callable[[str], str], indent: str) -> list[str]:
    """Lines of the statement that attaches the schedule, for the place after the allocations."""
    roles = [
        f'T.WSRole("{r.name}", warps_lo={r.warps_lo}, warps_hi={r.warps_hi}, max_nreg={r.registers_per_thread}),'
        for r in schedule.roles
    ]
    pipelines = [
        f'T.WSPipeline("{p.name}", [{", ".join(map(buffer_name, p.buffers))}], depth={p.depth}),'
        for p in schedule.pipelines
    ]
    inner = [
        f"num_warps={schedule.num_warps},",
        *_bracketed("roles=[", roles, "],"),
        *_bracketed("pipelines=[", pipelines, "],"),
        "scopes=[",
        *(_STEP + line for program in schedule.scopes for line in _scope(program)),
        "],",
    ]
    body = ["T.WSSchedule(", *(_STEP + line for line in inner), ")"]
    lines = ["T.annotate_ws_schedule(", *(_STEP + line for line in body), ")"]
    return [indent + line for line in lines]


def _bracketed(opening: str, lines: list[str], closing: str) -> list[str]:
    return [opening, *(_STEP + line for line in lines), closing] if lines else [opening + closing]


def _scope(program: ScopeProgram) -> list[str]:
    name = "T.WSScope.ROOT" if program.scope == ROOT else f'"{program.scope}"'
    lines = ["T.WSScope(", f"{_STEP}{name},", f"{_STEP}{{"]
    for body in program.bodies:
        lines.append(f'{_STEP * 2}"{body.role}": [')
        lines += [f"{_STEP * 3}{_instruction(item)}," for item in body.instructions]
        lines.append(f"{_STEP * 2}],")
    return [*lines, f"{_STEP}}},", "),"]


def _instruction(item: Instruction) -> str:
    if isinstance(item, OpRef):
        return f'"{item.id}"'
    if isinstance(item, Fence):
        raise GraphError("TileLang's schedules have no fences", code="schedule-fence", place=item.pipeline)
    stage = f", stage={item.stage}" if item.stage else ""
    return f'T.WSSync.{item.sync.value}("{item.pipeline}"{stage})'
