"""An explanation of a kernel or of one choice: the answer in words, with its parts for a program."""

from dataclasses import dataclass

from pydantic import TypeAdapter

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.verdict import Bound, Conflict, Verdict

__all__ = ["Explanation", "Relaxation"]

SCHEMA = "warpwright.explanation/1"


@dataclass(frozen=True, slots=True)
class Relaxation:
    """One change that makes the choice possible: in words, and as a question if there is one."""

    change: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer for a person, with its parts for a program.

    ``possible`` is None if the budget ended before the question was decided. ``facts`` are the resources of the best
    schedule (of the requested one if it is possible), with what is left of each.
    """

    question: str
    possible: bool | None
    answer: str
    conflicts: tuple[Conflict, ...] = ()
    relaxations: tuple[Relaxation, ...] = ()
    facts: tuple[Fact, ...] = ()
    bounds: tuple[Bound, ...] = ()
    binding: tuple[str, ...] = ()
    verdict: Verdict | None = None

    def to_dict(self) -> dict[str, object]:
        """The answer as JSON-ready values, ``schema`` first."""
        body: dict[str, object] = TypeAdapter(Explanation).dump_python(self, mode="json")
        return {"schema": SCHEMA, **body}

    def __str__(self) -> str:
        lines = [self.answer]
        lines += [f"  {conflict.family}: {conflict.message}" for conflict in self.conflicts]
        lines += [f"  possible {relaxation.change}" for relaxation in self.relaxations]
        lines += [f"  {fact}" for fact in self.facts]
        return "\n".join(lines)
