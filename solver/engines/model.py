"""An engine-neutral constraint model: integer variables, linear constraints with guards, clauses, lexicographic objectives.

Families write into a :class:`Model` under their own label; an engine translates the finished model. The model is plain
data, so the same problem goes to every engine and can be saved. All products in our problems (interval times depth, stage
times interval) are between a variable and a small domain and become guarded linear constraints, one per value.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Constraint", "Expr", "Literal", "Model", "Var", "linear"]


@dataclass(frozen=True, slots=True)
class Var:
    """An integer variable with inclusive bounds; a boolean has bounds 0 and 1."""

    index: int
    name: str
    lo: int
    hi: int

    def __add__(self, other: "Var | Expr | int") -> "Expr":
        return linear((1, self)) + other

    def __radd__(self, other: "Var | Expr | int") -> "Expr":
        return linear((1, self)) + other

    def __sub__(self, other: "Var | Expr | int") -> "Expr":
        return linear((1, self)) - other

    def __rsub__(self, other: "Var | Expr | int") -> "Expr":
        return linear((-1, self)) + other

    def __mul__(self, factor: int) -> "Expr":
        return linear((factor, self))

    def __rmul__(self, factor: int) -> "Expr":
        return linear((factor, self))


@dataclass(frozen=True, slots=True)
class Expr:
    """``sum(coefficient * variable) + constant``; each variable at most once."""

    terms: tuple[tuple[int, Var], ...]
    constant: int = 0

    def __add__(self, other: "Var | Expr | int") -> "Expr":
        if isinstance(other, int):
            return Expr(self.terms, self.constant + other)
        right = other if isinstance(other, Expr) else linear((1, other))
        return linear(*self.terms, *right.terms, constant=self.constant + right.constant)

    def __radd__(self, other: "Var | Expr | int") -> "Expr":
        return self + other

    def __sub__(self, other: "Var | Expr | int") -> "Expr":
        return self + (-other if isinstance(other, int) else other * -1)

    def __rsub__(self, other: "Var | Expr | int") -> "Expr":
        return self * -1 + other

    def __mul__(self, factor: int) -> "Expr":
        return Expr(tuple((factor * c, v) for c, v in self.terms if factor), factor * self.constant)

    def __rmul__(self, factor: int) -> "Expr":
        return self * factor


def linear(*terms: tuple[int, Var], constant: int = 0) -> Expr:
    """An expression from terms; equal variables are merged, zero coefficients dropped, order is by variable index."""
    merged: dict[Var, int] = {}
    for coefficient, variable in terms:
        merged[variable] = merged.get(variable, 0) + coefficient
    return Expr(tuple((c, v) for v, c in sorted(merged.items(), key=lambda item: item[0].index) if c), constant)


@dataclass(frozen=True, slots=True)
class Literal:
    """A boolean variable or its negation."""

    var: Var
    positive: bool = True

    def negated(self) -> "Literal":
        """The opposite literal."""
        return Literal(self.var, not self.positive)


@dataclass(frozen=True, slots=True)
class Constraint:
    """``lo <= expr <= hi`` if every literal of ``when`` holds; None means no bound.

    ``clause`` (then ``expr`` is None) requires at least one of its literals instead. ``family`` labels it for cores,
    ``note`` says in words what it means.
    """

    family: str
    expr: Expr | None
    lo: int | None
    hi: int | None
    when: tuple[Literal, ...]
    clause: tuple[Literal, ...] = ()
    note: str = ""


@dataclass(slots=True)
class Model:
    """A model under construction. Names are unique; families are labels set by :meth:`family`."""

    variables: list[Var] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    objectives: list[Expr] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)
    _family: str = "domain"

    @contextmanager
    def family(self, label: str) -> Iterator[None]:
        """Constraints added inside belong to this family."""
        before, self._family = self._family, label
        try:
            yield
        finally:
            self._family = before

    def integer(self, name: str, lo: int, hi: int) -> Var:
        """A new integer variable with inclusive bounds.

        Raises:
            ValueError: the name is taken or the domain is empty.
        """
        if name in self._names or lo > hi:
            raise ValueError(f"variable {name!r}: taken, or empty domain [{lo}, {hi}]")
        self._names.add(name)
        variable = Var(len(self.variables), name, lo, hi)
        self.variables.append(variable)
        return variable

    def boolean(self, name: str) -> Literal:
        """A new boolean variable as its positive literal."""
        return Literal(self.integer(name, 0, 1))

    def at_least(self, expr: Expr | Var, bound: int, *, when: Iterable[Literal] = (), note: str = "") -> None:
        """``expr >= bound`` under the guards."""
        self._add(expr, bound, None, when, note)

    def at_most(self, expr: Expr | Var, bound: int, *, when: Iterable[Literal] = (), note: str = "") -> None:
        """``expr <= bound`` under the guards."""
        self._add(expr, None, bound, when, note)

    def equal(self, expr: Expr | Var, value: int, *, when: Iterable[Literal] = (), note: str = "") -> None:
        """``expr == value`` under the guards."""
        self._add(expr, value, value, when, note)

    def any_of(self, literals: Iterable[Literal], *, when: Iterable[Literal] = (), note: str = "") -> None:
        """At least one literal holds (under the guards)."""
        clause = tuple(literals) + tuple(literal.negated() for literal in when)
        self.constraints.append(Constraint(self._family, None, None, None, (), clause, note))

    def exactly_one(self, literals: Sequence[Literal], *, note: str = "") -> None:
        """Exactly one literal holds."""
        total = linear(*((1 if x.positive else -1, x.var) for x in literals))
        self.equal(total, 1 - sum(not x.positive for x in literals), note=note)

    def minimize(self, *levels: Expr | Var) -> None:
        """Objectives in lexicographic order, most important first."""
        self.objectives = [level if isinstance(level, Expr) else linear((1, level)) for level in levels]

    def _add(self, expr: Expr | Var, lo: int | None, hi: int | None, when: Iterable[Literal], note: str) -> None:
        whole = expr if isinstance(expr, Expr) else linear((1, expr))
        bounds = (None if b is None else b - whole.constant for b in (lo, hi))
        low, high = bounds
        self.constraints.append(Constraint(self._family, Expr(whole.terms), low, high, tuple(when), (), note))
