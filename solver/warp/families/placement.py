"""Every statement is placed exactly where the kernel has it, once, in a role that can issue it.

A role that runs a statement or enters a loop also runs the scalar definitions that it uses. Only statements that write private
storage may run in several roles. Source: TileLang 0.1.15 wheel, MWS:677-741, 808-902, 995-1001, 1127-1141, 1719-1835; rule
book 1.5.
"""

from warpwright.solver.device.wgmma import is_wgmma
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import ROOT, OpKind
from warpwright.solver.domain.schedule import OpRef
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.engines.model import linear
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.layout.buffer_channels import PRIVATE_MEMORIES
from warpwright.solver.warp.layout.structure import PlacedKernel, structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "placement"


def build(enc: WarpEncoding) -> None:
    """Fixes each statement to the roles of the structure, and refuses roles that cannot issue it."""
    for (op_id, role), literal in enc.place.items():
        enc.model.any_of([literal], note=f"{op_id} runs in {role}")
        gemm = enc.problem.ops[op_id].gemm
        if gemm is not None and enc.problem.device.wgmma and is_wgmma(gemm) and role != CONSUMER:
            enc.model.any_of([literal.negated()], note=f"{op_id} needs whole warpgroups, {role} has none")
    for reason in (*_invisible_scalars(enc.problem), *_missing_scalars(enc.problem, enc.structure)):
        enc.model.any_of([], note=reason)
    enc.model.at_least(linear(constant=len(enc.structure.roles)), 1, note="the kernel has a statement")


def check(reading: Reading) -> tuple[Violation, ...]:
    """Every statement once, in its own scope, reachable from the root, with its scalars."""
    found: list[Violation] = []
    _check_programs(reading, found)
    _check_statements(reading, found)
    _check_scalars(reading, found)
    return tuple(found)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Statements by role."""
    structure = structure_of(problem)
    placed = structure.placement if reading is None else reading.placement
    roles = sorted({role for where in placed.values() for role in where})
    held = tuple((role, sum(role in where for where in placed.values())) for role in roles)
    missing = _missing_scalars(problem, structure) if reading is None else []
    note = "; ".join((*_invisible_scalars(problem), *missing))
    return (Fact("statements", sum(count for _, count in held), None, "placements", held, note),)


def _invisible_scalars(problem: WarpProblem) -> list[str]:
    """Uses of scalars that are defined under a guard: in TileLang the definition is visible only inside its branch."""
    guarded = {op.binds for op in problem.graph.ops if op.kind is OpKind.BIND and op.guarded}
    uses = [(op.id, name) for op in problem.graph.ops for name in op.uses_scalars if name in guarded]
    uses += [(scope.id, name) for scope in problem.graph.scopes for name in scope.uses_scalars if name in guarded]
    return [f"{item} uses {name}, which is defined only under a guard" for item, name in uses]


def _missing_scalars(problem: WarpProblem, structure: PlacedKernel) -> list[str]:
    """Uses of scalars in roles that do not define them: only a pin can separate a definition from its users."""
    definers = {op.binds: op.id for op in problem.graph.ops if op.kind is OpKind.BIND and op.binds}
    users = [(op.id, op.uses_scalars, structure.placement[op.id]) for op in problem.graph.ops]
    for scope in problem.graph.scopes:
        entered = tuple(role for role in structure.roles if structure.body(scope.id, role))
        users.append((scope.id, scope.uses_scalars, entered))
    return [
        f"{role} runs {item}, which uses {name}, but {definers[name]} runs in another role"
        for item, names, roles in users
        for name in names
        for role in roles
        if name in definers and role not in structure.placement[definers[name]]
    ]


def _violation(found: list[Violation], rule: str, message: str, place: str = "") -> None:
    found.append(Violation(NAME, rule, message, place))


def _check_programs(reading: Reading, found: list[Violation]) -> None:
    problem, schedule = reading.problem, reading.schedule
    names = [program.scope for program in schedule.scopes]
    for name in sorted({name for name in names if names.count(name) > 1}):
        _violation(found, "scope-twice", f"scope {name} has two programs", name)
    for name in sorted(set(names) - set(problem.scopes)):
        _violation(found, "unknown-scope", f"the kernel has no scope {name}", name)
    for role in schedule.roles:
        if not reading.bodies.get((ROOT, role.name)):
            _violation(found, "empty-root-body", f"role {role.name} does nothing in the root scope", role.name)
    seen: set[tuple[str, str]] = set()
    for program in schedule.scopes:
        for body in program.bodies:
            if (program.scope, body.role) in seen:
                _violation(found, "body-twice", f"{body.role} has two bodies in {program.scope}", program.scope)
            seen.add((program.scope, body.role))
            if body.role not in reading.roles:
                _violation(
                    found,
                    "unknown-role",
                    f"{program.scope} has a body for role {body.role}, which does not exist",
                    program.scope,
                )
            parent = problem.scopes[program.scope].parent if program.scope in problem.scopes else None
            entered = parent is None or OpRef(program.scope) in reading.bodies.get((parent, body.role), ())
            if body.instructions and not entered:
                message = f"{body.role} has a body in {program.scope} but never enters it"
                _violation(found, "never-entered", message, program.scope)


def _check_statements(reading: Reading, found: list[Violation]) -> None:
    problem = reading.problem
    for (scope, role), body in reading.bodies.items():
        items = [instruction.id for instruction in body if isinstance(instruction, OpRef)]
        for item in sorted({item for item in items if items.count(item) > 1}):
            _violation(found, "placed-twice", f"{role} runs {item} twice in {scope}", item)
        for item in items:
            if item in problem.scopes:
                lexical = problem.scopes[item].parent
                if not reading.bodies.get((item, role)):
                    _violation(found, "empty-body", f"{role} enters {item} and does nothing there", item)
            elif item in problem.ops:
                lexical = problem.ops[item].scope
            else:
                _violation(found, "unknown-statement", f"the kernel has no statement {item}", item)
                continue
            if lexical != scope:
                _violation(found, "wrong-scope", f"{item} belongs to {lexical}, not to {scope}", item)
    protected = {buffer for pipeline in reading.schedule.pipelines for buffer in pipeline.buffers}
    for op in problem.graph.ops:
        roles = reading.placement.get(op.id, ())
        if not roles:
            _violation(found, "not-placed", f"no role runs {op.id}", op.id)
        if len(roles) > 1:
            written = {problem.graph.buffer(access.buffer).memory for access in op.writes}
            touched = {access.buffer for access in (*op.reads, *op.writes)}
            if not written <= PRIVATE_MEMORIES or touched & protected:
                message = f"{op.id} runs in {' and '.join(roles)} but touches storage of the whole block"
                _violation(found, "several-roles", message, op.id)


def _check_scalars(reading: Reading, found: list[Violation]) -> None:
    definers = {op.binds: op for op in reading.problem.graph.ops if op.kind is OpKind.BIND and op.binds}
    for role in reading.schedule.roles:
        order = reading.items(role.name)
        position = {item: n for n, item in enumerate(order)}
        for item in order:
            for scalar in (reading.problem.ops.get(item) or reading.problem.scopes[item]).uses_scalars:
                source = definers.get(scalar)
                if source is None:
                    continue
                if source.id not in position or position[source.id] > position[item]:
                    message = f"{role.name} runs {item}, which uses {scalar}, without {source.id} before it"
                    _violation(found, "scalar-not-defined", message, item)
                elif source.guarded:
                    _violation(found, "scalar-guarded", f"{item} uses {scalar}, defined only under a guard", item)
