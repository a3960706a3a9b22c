"""An answer document from a file of any origin, read strictly: what ``warpwright solve --problem FILE.json --json`` printed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from warpwright.solver.domain.bound import Bound
from warpwright.solver.domain.errors import DocumentError
from warpwright.solver.domain.verdict import Conflict
from warpwright.solver.modulo.answer import ANSWER_SCHEMA
from warpwright.solver.modulo.problem import ModuloProblem, ModuloSchedule

__all__ = ["PlacedOp", "StatedAnswer", "StatedSearch", "parse_answer"]


@dataclass(frozen=True, slots=True)
class PlacedOp:
    """One operation of the schedule: its issue in iteration 0, its stage, its group."""

    op: str
    start: int
    stage: int
    group: str | None


@dataclass(frozen=True, slots=True)
class StatedSearch:
    """One search that is said to have been made."""

    engine: str
    low: int
    high: int
    status: str
    work: int


@dataclass(frozen=True, slots=True)
class StatedAnswer:
    """The document's keys; those of an answer with a schedule have no default in it."""

    problem: str
    problem_digest: str
    ops: int
    status: str
    proven: bool
    interval: int | None
    bound: Bound
    bounds: tuple[Bound, ...]
    max_stages: int
    engine: str
    engine_version: str
    proven_by: str
    polished_by: str
    attempts: tuple[StatedSearch, ...]
    reason: str
    seconds: float
    conflicts: tuple[Conflict, ...] = ()
    length: int | None = None
    length_proven: bool = False
    schedule: tuple[PlacedOp, ...] = ()
    verified: bool = False
    explanation: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def placed(self, problem: ModuloProblem) -> ModuloSchedule:
        """The schedule that the answer states.

        Raises:
            DocumentError: there is none, or it places other operations than the problem has.
        """
        names = [row.op for row in self.schedule]
        if self.interval is None or not names:
            raise DocumentError(f"an answer without a schedule: {self.status}", place="/schedule")
        if sorted(names) != sorted(op.id for op in problem.ops):
            raise DocumentError("the schedule does not place exactly the problem's operations", place="/schedule")
        if self.interval < 1 or any(row.start < 0 for row in self.schedule):
            raise DocumentError("an interval is at least 1, a start at least 0", place="/schedule")
        groups = {row.op: row.group for row in self.schedule if row.group is not None}
        return ModuloSchedule(self.interval, {row.op: row.start for row in self.schedule}, groups)


for _part in (PlacedOp, StatedSearch, StatedAnswer):
    _part.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[union-attr]
_ANSWER = TypeAdapter(StatedAnswer)


def parse_answer(text: str | bytes) -> StatedAnswer:
    """An answer from JSON text.

    Raises:
        DocumentError: ``document-not-json``, ``document-schema``, or ``document-invalid`` with the place.
    """
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not JSON: {error}", code="document-not-json", place="/") from error
    if not isinstance(document, dict) or document.get("schema") != ANSWER_SCHEMA:
        raise DocumentError(f"not a {ANSWER_SCHEMA} document", code="document-schema", place="/schema")
    try:
        return _ANSWER.validate_python({name: part for name, part in document.items() if name != "schema"})
    except ValidationError as error:
        first = error.errors()[0]
        raise DocumentError(first["msg"], place="/" + "/".join(map(str, first["loc"]))) from error
