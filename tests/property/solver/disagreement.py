"""When engines disagree: the families that it takes, the least model that shows it, and a file to run it again.

``python -m tests.property.solver.disagreement FILE`` asks all engines about a model that was written.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from warpwright.solver.engines import Budget, Engine, EngineResult, EngineStatus, engine, engine_names
from warpwright.solver.engines.core import families_of, minimise_core, restricted
from warpwright.solver.engines.model import Constraint, Expr, Literal, Model
from warpwright.solver.engines.port import holds

__all__ = ["Disagreement", "agreed", "disagree", "model_document", "model_of", "write_instance"]

FOLDER = "WARPWRIGHT_TEST_DISAGREEMENTS"
"""Names the folder for instances; else one in the system's temporary folder."""
MOST_CHECKS = 400
"""Comparisons that shrinking may cost after the families are minimal."""


class Disagreement(AssertionError):
    """What differs, over which families, in which file."""


def agreed(
    model: Model,
    engines: Mapping[str, Engine] | Sequence[str],
    budget: Budget,
    hint: Sequence[int | None] | None = None,
) -> dict[str, EngineResult]:
    """The engines' answers, by name, when they are the same: status, optimum of every level, assignments that hold.

    Raises:
        Disagreement: they are not; the message names the families that it takes, and the file of the least model.
    """
    asked = engines if isinstance(engines, Mapping) else {name: engine(name) for name in engines}
    results = {name: each.solve(model, budget, hint) for name, each in asked.items()}
    if not _difference(model, results):
        return results

    def differ(smaller: Model) -> bool:
        return bool(_difference(smaller, {name: each.solve(smaller, budget) for name, each in asked.items()}))

    if differ(model):  # else only the hint shows it, and there is nothing to be made smaller
        core = minimise_core(families_of(model), lambda kept: differ(_with_objectives(model, kept)))
        least = _shrunk(_with_objectives(model, core), differ)
    else:
        core, least = families_of(model), model
    answers = {name: each.solve(least, budget) for name, each in asked.items()}
    difference = _difference(least, answers) or _difference(model, results)
    path = write_instance("model", model_document(least))
    raise Disagreement(
        f"{difference}\nfamilies it takes: {', '.join(core) or 'none, only definitions'} "
        f"(of {', '.join(families_of(model))})\n"
        + "".join(f"  {_words(constraint)}\n" for constraint in least.constraints if len(least.constraints) < 20)
        + f"{len(least.constraints)} of {len(model.constraints)} constraints: {path}\n"
        f"again: python -m tests.property.solver.disagreement {path}"
    )


def _with_objectives(model: Model, families: Sequence[str]) -> Model:
    return replace(restricted(model, families), objectives=model.objectives)


def _difference(model: Model, results: Mapping[str, EngineResult]) -> str:
    """What is not the same, in words; empty when all is. What a limit cut short says nothing."""
    for name, result in results.items():
        for constraint in model.constraints if result.values is not None else ():
            if not holds(constraint, result.values or ()):
                return f"{name} answers with an assignment that breaks {_words(constraint)}"
    decided = {n: r for n, r in results.items() if r.status in (EngineStatus.OPTIMAL, EngineStatus.INFEASIBLE)}
    told = {name: (result.status.value, result.objectives) for name, result in decided.items()}
    if len(set(told.values())) > 1:
        said = "; ".join(f"{name}: {status} {list(objectives)}" for name, (status, objectives) in told.items())
        cores = [f"core of {name}: {', '.join(r.core)}" for name, r in decided.items() if r.core]
        return "; ".join(["the engines disagree: " + said, *cores])
    return ""


def _shrunk(model: Model, differ: Callable[[Model], bool]) -> Model:
    """Without the constraints that the disagreement does not need, in halves, quarters and so on, then one by one."""
    kept, checks, size = list(model.constraints), 0, len(model.constraints) // 2
    while size and checks < MOST_CHECKS:
        for first in range(len(kept) - size, -1, -size):
            fewer = [*kept[:first], *kept[first + size :]]
            checks += 1
            if checks < MOST_CHECKS and differ(replace(model, constraints=fewer)):
                kept = fewer
        size = size // 2 if size > 1 else 0
    return replace(model, constraints=kept)


def _words(constraint: Constraint) -> str:
    when = "".join(f"{'' if x.positive else 'not '}{x.var.name} and " for x in constraint.when).removesuffix(" and ")
    guard = f" when {when}" if when else ""
    note = f" ({constraint.note})" if constraint.note else ""
    if constraint.expr is None:
        either = " or ".join(("" if x.positive else "not ") + x.var.name for x in constraint.clause)
        return f"{constraint.family}: {either or 'nothing'}{guard}{note}"
    total = " + ".join(f"{coefficient} {variable.name}" for coefficient, variable in constraint.expr.terms) or "0"
    low = "" if constraint.lo is None else f"{constraint.lo} <= "
    high = "" if constraint.hi is None else f" <= {constraint.hi}"
    return f"{constraint.family}: {low}{total}{high}{guard}{note}"


def disagree(kind: str, document: object, message: str) -> NoReturn:
    """Writes the instance and raises.

    Raises:
        Disagreement: with the message and the file.
    """
    raise Disagreement(f"{message}\ninstance: {write_instance(kind, document)}")


def write_instance(kind: str, document: object) -> Path:
    """Writes a document under a name of its content, and says where."""
    folder = Path(os.environ.get(FOLDER) or Path(tempfile.gettempdir()) / "warpwright-disagreements")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=1, sort_keys=True)
    path = folder / f"{kind}-{sha256(text.encode()).hexdigest()[:12]}.json"
    path.write_text(text + "\n")
    return path


def model_document(model: Model) -> dict[str, Any]:
    """A model as JSON: variables in their order, everything else by their index."""
    return {
        "variables": [[variable.name, variable.lo, variable.hi] for variable in model.variables],
        "constraints": [
            {
                "family": constraint.family,
                "terms": None if constraint.expr is None else _terms(constraint.expr),
                "lo": constraint.lo,
                "hi": constraint.hi,
                "when": _literals(constraint.when),
                "clause": _literals(constraint.clause),
                "note": constraint.note,
            }
            for constraint in model.constraints
        ],
        "objectives": [{"terms": _terms(level), "constant": level.constant} for level in model.objectives],
    }


def _terms(expr: Expr) -> list[list[int]]:
    return [[coefficient, variable.index] for coefficient, variable in expr.terms]


def _literals(literals: Sequence[Literal]) -> list[list[int]]:
    return [[literal.var.index, int(literal.positive)] for literal in literals]


def model_of(document: Mapping[str, Any]) -> Model:
    """The model of :func:`model_document`."""
    model = Model()
    for name, lo, hi in document["variables"]:
        model.integer(name, lo, hi)

    def literals(rows: Sequence[Sequence[int]]) -> tuple[Literal, ...]:
        return tuple(Literal(model.variables[index], bool(positive)) for index, positive in rows)

    def expr(rows: Sequence[Sequence[int]], constant: int = 0) -> Expr:
        return Expr(tuple((coefficient, model.variables[index]) for coefficient, index in rows), constant)

    for row in document["constraints"]:
        whole = None if row["terms"] is None else expr(row["terms"])
        when, clause = literals(row["when"]), literals(row["clause"])
        model.constraints.append(Constraint(row["family"], whole, row["lo"], row["hi"], when, clause, row["note"]))
    model.objectives = [expr(level["terms"], level["constant"]) for level in document["objectives"]]
    return model


def main(path: str) -> int:
    """Asks every engine about a written model."""
    model = model_of(json.loads(Path(path).read_text()))
    for constraint in model.constraints:
        sys.stdout.write(f"{_words(constraint)}\n")
    for name in engine_names():
        result = engine(name).solve(model, Budget())
        sys.stdout.write(f"{name}: {result.status.value} {list(result.objectives)} core {list(result.core)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
