"""What the user fixed stays fixed. Every pin is a family of its own, so that two conflicting ones are both named.

A pin that names a role or a pipeline that this kernel cannot have is infeasible, never ignored. Source:
``warpwright.solver.domain.pins``.
"""

from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import ROOT
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.schedule import Sync
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import Literal, linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.problem import CONSUMER, STORE, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "pins"
PREFIX = "pin:"


def build(enc: WarpEncoding) -> None:
    """Each pin under its own label."""
    pins, model = enc.problem.pins, enc.model
    _build_roles(enc, pins)
    _build_placements(enc, pins)
    _build_pipelines(enc, pins)
    _build_stages(enc, pins)
    if pins.consumer_warpgroups is not None:
        with model.family(f"{PREFIX}consumer_warpgroups={pins.consumer_warpgroups}"):
            chosen = enc.width.get(pins.consumer_warpgroups)
            model.any_of([] if chosen is None else [chosen])
    if pins.store_role is not None:
        with model.family(f"{PREFIX}store_role={str(pins.store_role).lower()}"):
            _constant(enc, (STORE in enc.structure.roles) == pins.store_role)


def _constant(enc: WarpEncoding, truth: bool, note: str = "") -> None:
    enc.model.at_least(linear(constant=int(truth)), 1, note=note)


def _build_roles(enc: WarpEncoding, pins: Pins) -> None:
    for pin in pins.roles:
        for name, value in (
            ("warps_lo", pin.warps_lo),
            ("warps_hi", pin.warps_hi),
            ("registers_per_thread", pin.registers_per_thread),
        ):
            if value is None:
                continue
            with enc.model.family(f"{PREFIX}roles.{pin.role}.{name}={value}"):
                if pin.role not in enc.structure.roles:
                    _constant(enc, False, f"the kernel has no work for {pin.role}")
                elif name == "warps_lo":
                    enc.model.equal(enc.first_warp[pin.role], value)
                elif name == "warps_hi":
                    enc.model.equal(enc.first_warp[pin.role] + enc.warps[pin.role], value)
                else:
                    enc.model.equal(enc.registers[pin.role], value)


def _build_placements(enc: WarpEncoding, pins: Pins) -> None:
    wanted: dict[str, dict[str, Literal]] = {}
    for pin in pins.placements:
        of_op = wanted.setdefault(pin.op, {})
        if pin.role not in of_op:
            of_op[pin.role] = enc.model.boolean(f"{pin.op} is pinned to {pin.role}")
    for of_op in wanted.values():
        enc.model.at_most(linear(*((1, literal.var) for literal in of_op.values())), 1)
    for pin in pins.placements:
        with enc.model.family(f"{PREFIX}ops.{pin.op}.role={pin.role}"):
            enc.model.any_of([wanted[pin.op][pin.role]])


def _build_pipelines(enc: WarpEncoding, pins: Pins) -> None:
    channels = enc.structure.channels
    for depth_pin in pins.depths:
        with enc.model.family(f"{PREFIX}buffers.{depth_pin.buffer}.depth={depth_pin.depth}"):
            inside = [n for n, channel in enumerate(channels) if channel.buffer == depth_pin.buffer]
            if inside:
                enc.model.equal(enc.depth[inside[-1]], depth_pin.depth)
            else:
                _constant(enc, depth_pin.depth == 1, f"{depth_pin.buffer} is in no pipeline: it has one version")
    for pipeline_pin in pins.pipelines:
        group = set(pipeline_pin.buffers)
        with enc.model.family(f"{PREFIX}pipeline={'+'.join(pipeline_pin.buffers)}"):
            inside = [n for n, channel in enumerate(channels) if channel.buffer in group]
            _constant(enc, {channels[n].buffer for n in inside} == group, "every buffer changes hands")
            for n, first in enumerate(inside):
                for second in inside[n + 1 :]:
                    literal = enc.merged.get((first, second))
                    enc.model.any_of([] if literal is None else [literal])
            for (first, second), literal in enc.merged.items():
                if (first in inside) != (second in inside):
                    enc.model.any_of([literal.negated()])
    if pins.merged_pipelines is not None:
        with enc.model.family(f"{PREFIX}merged_pipelines={str(pins.merged_pipelines).lower()}"):
            for literal in enc.merged.values():
                enc.model.any_of([literal if pins.merged_pipelines else literal.negated()])
            for pair in enc.apart if pins.merged_pipelines else ():
                names = " and ".join(channels[n].buffer for n in pair)
                _constant(enc, False, f"no pipeline can hand over {names} together")


def _build_stages(enc: WarpEncoding, pins: Pins) -> None:
    for pin in pins.stages:
        with enc.model.family(f"{PREFIX}ops.{pin.op}.stage={pin.stage}"):
            keys = [(scope, role, pin.op) for scope, role, items in enc.bodies() if pin.op in items]
            for key in keys:
                chosen = enc.stage_is[key].get(pin.stage) if key in enc.stage_is else None
                if key in enc.stage_is or pin.stage:
                    enc.model.any_of([] if chosen is None else [chosen])
            if not keys:
                _constant(enc, pin.stage == 0, "the root scope has no stages")
    if pins.software_pipelining is not None:
        late = [literal for values in enc.stage_is.values() for stage, literal in values.items() if stage]
        with enc.model.family(f"{PREFIX}software_pipelining={str(pins.software_pipelining).lower()}"):
            if pins.software_pipelining:
                enc.model.any_of(late)
            else:
                for literal in late:
                    enc.model.any_of([literal.negated()])


def check(reading: Reading) -> tuple[Violation, ...]:
    """Compares the schedule with every pin."""
    pins = reading.problem.pins
    compared = [*_role_values(reading, pins), *_switch_values(reading, pins)]
    for placement in pins.placements:
        actual = reading.placement.get(placement.op, ())
        kept = placement.role if actual == (placement.role,) else actual
        compared.append((f"ops.{placement.op}.role", placement.role, kept))
    for depth in pins.depths:
        inside = reading.protecting(depth.buffer)
        compared.append((f"buffers.{depth.buffer}.depth", depth.depth, inside[-1].depth if inside else 1))
    for group in pins.pipelines:
        together = any(set(p.buffers) == set(group.buffers) for p in reading.schedule.pipelines)
        compared.append((f"pipeline {'+'.join(group.buffers)}", True, together))
    for stage in pins.stages:
        compared.append((f"ops.{stage.op}.stage", stage.stage, _stage_of(reading, stage.op)))
    return tuple(
        Violation(NAME, "pin-not-kept", f"{what} is pinned to {wanted}, the schedule has {actual}", what)
        for what, wanted, actual in compared
        if wanted is not None and wanted != actual
    )


Compared = list[tuple[str, object, object]]


def _role_values(reading: Reading, pins: Pins) -> Compared:
    compared: Compared = []
    for pin in pins.roles:
        role, where = reading.roles.get(pin.role), f"roles.{pin.role}"
        compared.append((f"{where}.warps_lo", pin.warps_lo, role and role.warps_lo))
        compared.append((f"{where}.warps_hi", pin.warps_hi, role and role.warps_hi))
        registers = role and role.registers_per_thread
        compared.append((f"{where}.registers_per_thread", pin.registers_per_thread, registers))
    return compared


def _switch_values(reading: Reading, pins: Pins) -> Compared:
    consumer = reading.roles.get(CONSUMER)
    groups = consumer.warps / WARPGROUP if consumer else 0
    sizes = [len(pipeline.buffers) for pipeline in reading.schedule.pipelines]
    merged = len(set(_owners(reading))) == len(sizes) if pins.merged_pipelines else any(size > 1 for size in sizes)
    staged = any(entry.delta for scope, role in reading.bodies for entry in reading.entries(scope, role) if entry.item)
    return [
        ("consumer_warpgroups", pins.consumer_warpgroups, groups),
        ("store_role", pins.store_role, STORE in reading.roles),
        ("merged_pipelines", pins.merged_pipelines, merged),
        ("software_pipelining", pins.software_pipelining, staged),
    ]


def _owners(reading: Reading) -> list[tuple[str, ...]]:
    """Scope, roles and values per iteration of each pipeline: equal ones could be merged."""
    owners = []
    for pipeline in reading.schedule.pipelines:
        scope = reading.scope_of.get(pipeline.name, ROOT)
        roles = sorted(
            role
            for (where, role), body in reading.bodies.items()
            if where == scope and any(isinstance(i, Sync) and i.pipeline == pipeline.name for i in body)
        )
        nested = any(len(reading.protecting(buffer)) > 1 for buffer in pipeline.buffers)
        values = len(reading.values(pipeline.name))
        owners.append((scope, *roles, str(values), pipeline.name if nested else ""))
    return owners


def _stage_of(reading: Reading, op_id: str) -> int:
    for scope, role in reading.bodies:
        for entry in reading.entries(scope, role):
            if entry.item == op_id:
                return entry.delta
    return 0


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """How many values the user fixed."""
    pins = problem.pins
    lists = (pins.roles, pins.placements, pins.pipelines, pins.depths, pins.stages)
    switches = (pins.consumer_warpgroups, pins.store_role, pins.merged_pipelines, pins.software_pipelining)
    count = sum(len(entries) for entries in lists) + sum(value is not None for value in switches)
    return (Fact("pins", count, None, "values"),) if count else ()
