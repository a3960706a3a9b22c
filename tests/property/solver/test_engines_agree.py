"""Random small constraint models: three engines, one feasible set, one optimum."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.solver.disagreement import agreed
from warpwright.solver.engines import Budget, EngineStatus, engine
from warpwright.solver.engines.enumerate import assignments
from warpwright.solver.engines.model import Expr, Literal, Model, linear
from warpwright.solver.engines.port import evaluate, holds

BUDGET = Budget(work_limit=50_000, wall_seconds=60.0)
FAMILIES = ("one", "two", "three")


@st.composite
def models(draw: st.DrawFn) -> Model:
    """Up to five variables of small domains, up to seven constraints with guards, two objective levels."""
    model = Model()
    booleans = [model.boolean(f"b{n}") for n in range(draw(st.integers(1, 3)))]
    integers = []
    for n in range(draw(st.integers(1, 3))):
        low = draw(st.integers(-3, 2))
        integers.append(model.integer(f"x{n}", low, low + draw(st.integers(0, 4))))
    everything = [literal.var for literal in booleans] + integers

    def expression() -> Expr:
        terms = draw(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(everything)), min_size=1, max_size=3))
        return linear(*terms, constant=draw(st.integers(-2, 2)))

    def literals(most: int) -> list[Literal]:
        chosen = draw(st.lists(st.sampled_from(booleans), max_size=most))
        return [literal if draw(st.booleans()) else literal.negated() for literal in chosen]

    for _ in range(draw(st.integers(0, 7))):
        with model.family(draw(st.sampled_from(FAMILIES))):
            kind, guards = draw(st.integers(0, 3)), literals(2)
            if kind == 0:
                model.at_least(expression(), draw(st.integers(-4, 4)), when=guards)
            elif kind == 1:
                model.at_most(expression(), draw(st.integers(-4, 4)), when=guards)
            elif kind == 2:
                model.equal(expression(), draw(st.integers(-2, 2)), when=guards)
            else:
                model.any_of(literals(3), when=guards)
    model.minimize(expression(), expression())
    return model


@settings(max_examples=30, deadline=None, derandomize=True)
@given(models())
def test_one_optimum(model: Model) -> None:
    every = list(assignments(model))
    best = min((tuple(evaluate(level, values) for level in model.objectives) for values in every), default=None)
    for name, result in agreed(model, ("enumerate", "cpsat", "z3"), BUDGET).items():
        if best is None:
            assert result.status is EngineStatus.INFEASIBLE, name
            # What a core names is infeasible on its own, and nothing smaller by one family is.
            for dropped in (None, *result.core):
                kept = [f for f in result.core if f != dropped]
                rest = Model(model.variables, [c for c in model.constraints if c.family in kept], [])
                assert (not any(True for _ in assignments(rest))) is (dropped is None), name
            continue
        assert (result.status, result.objectives) == (EngineStatus.OPTIMAL, best), name


@settings(max_examples=15, deadline=None, derandomize=True)
@given(models(), st.data())
def test_one_feasible_set(model: Model, data: st.DataObject) -> None:
    values = tuple(data.draw(st.integers(v.lo, v.hi)) for v in model.variables)
    inside = all(holds(constraint, values) for constraint in model.constraints)
    for variable, value in zip(model.variables, values, strict=True):
        model.equal(variable, value)
    for name, result in agreed(model, ("enumerate", "cpsat", "z3"), BUDGET).items():
        assert result.status is (EngineStatus.OPTIMAL if inside else EngineStatus.INFEASIBLE), name


@settings(max_examples=15, deadline=None, derandomize=True)
@given(models(), st.sampled_from(FAMILIES))
def test_relaxing_a_family_never_worsens_the_optimum(model: Model, family: str) -> None:
    full = engine("cpsat").solve(model, BUDGET)
    model.constraints = [constraint for constraint in model.constraints if constraint.family != family]
    relaxed = engine("cpsat").solve(model, BUDGET)
    if full.status is EngineStatus.OPTIMAL:
        assert relaxed.objectives <= full.objectives
