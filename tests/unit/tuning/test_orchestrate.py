"""The orchestration alone: who is lowered, who wins, what a stop leaves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.kernels.graphs import gemm_graph
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.solver.domain import (
    Candidate,
    CandidateKind,
    ForeignCode,
    HardwareProfile,
    Outcome,
    Proposals,
    Violation,
)
from warpwright.solver.profiles import builtin_profile
from warpwright.tuning.events import CandidateEnded, Event, Phase, PhaseEntered
from warpwright.tuning.orchestrate import tune
from warpwright.tuning.ranking import NOT_RANKED, best_of, ranked, ranking_of
from warpwright.tuning.request import TuneBudget, TuneRequest, Variant
from warpwright.tuning.result import Ending, TuneResult
from warpwright.tuning.toolchain import Built, KernelRead, Patience, Stop


def request_for(*irs: str, candidates: int = 8) -> TuneRequest:
    budget = TuneBudget(candidates=candidates, wall_seconds=30.0)
    variants = tuple(Variant(ir) for ir in irs)
    return TuneRequest(name="t", variants=variants, profile=builtin_profile("h200"), budget=budget)


def run(request: TuneRequest, tools: StandInToolchain | None = None, **options: Any) -> tuple[TuneResult, list[Event]]:
    seen: list[Event] = []
    return tune(request, events=seen.append, toolchain=tools or StandInToolchain(), **options), seen


def test_events_come_in_the_order_of_the_work() -> None:
    result, seen = run(request_for(new_ir(schedules=2)), StandInToolchain(device=True))
    phases = [event.phase for event in seen if isinstance(event, PhaseEntered)]
    assert phases == [Phase.SOLVING, Phase.BUILDING, Phase.MEASURING]
    ended = [event for event in seen if isinstance(event, CandidateEnded)]
    assert [event.done for event in ended][:5] == [1, 2, 3, 4, 5]
    assert result.note == "measured"


def test_the_yardstick_is_the_first_variant_that_fits_the_device() -> None:
    """The user's default may be too large for a smaller device: without a reference nothing could be measured there."""
    too_large = new_ir(schedules=1, faults={-1: "over_resource", 0: "over_resource"})
    result, seen = run(request_for(too_large, too_large, new_ir(schedules=2)), StandInToolchain(device=True))
    baselines = [c for c in result.candidates if c.kind is not CandidateKind.SCHEDULED]
    assert {(c.variant, c.outcome) for c in baselines} == {(0, Outcome.OVER_RESOURCE), (2, Outcome.MEASURED)}
    assert result.note == "measured"
    assert result.candidate(result.best or "").variant == 2
    last = [event for event in seen if isinstance(event, CandidateEnded)][-1]
    assert last.total == len(result.candidates)


def test_where_no_variant_fits_every_one_was_tried_and_it_ends() -> None:
    too_large = [new_ir(schedules=1, faults={-1: "over_resource", 0: "over_resource"}) for _ in range(2)]
    result, _ = run(request_for(*too_large, too_large[0]), StandInToolchain(device=True))
    assert result.best is None
    assert {c.outcome for c in result.candidates} == {Outcome.OVER_RESOURCE}
    assert len([c for c in result.candidates if c.kind is CandidateKind.UNSPECIALIZED]) == 2


def test_a_device_that_comes_while_candidates_are_built_is_used() -> None:
    class Late(StandInToolchain):
        def measures(self, profile: HardwareProfile) -> bool:
            return len(self.compiled) >= 5

    result, _ = run(request_for(new_ir(schedules=2)), Late())
    assert result.note == "measured"
    assert {c.outcome for c in result.candidates} == {Outcome.MEASURED}


def test_what_the_verifier_refuses_is_never_lowered() -> None:
    class Strict(StandInToolchain):
        def verify(self, kernel: Any, profile: Any, schedule: Any) -> tuple[Violation, ...]:
            return (Violation("warp_ranges", "r", "no", "roles"),)

        def materialize(self, ir: Any, schedule: Any, profile: Any, patience: Any) -> Any:
            raise AssertionError("it was lowered")

    result, _ = run(request_for(new_ir(schedules=2)), Strict())
    scheduled = [c for c in result.candidates if c.kind is CandidateKind.SCHEDULED]
    assert [c.outcome for c in scheduled] == [Outcome.REFUSED, Outcome.REFUSED]
    assert scheduled[0].failure is not None
    assert scheduled[0].failure.code == "schedule-illegal"
    assert result.best is not None
    assert result.candidate(result.best).kind is CandidateKind.DEFAULT


def test_foreign_code_ends_the_tuning_before_anything_is_built() -> None:
    tools = StandInToolchain()
    with pytest.raises(ForeignCode):
        run(request_for(new_ir(refuse="foreign-code")), tools)
    assert tools.compiled == []


def test_the_request_is_not_changed_and_ids_are_the_same_every_time() -> None:
    request = request_for(new_ir(schedules=3))
    copy = replace(request)
    first, _ = run(request)
    second, _ = run(request, parallel=2)
    assert request == copy
    assert {c.id for c in first.candidates} == {c.id for c in second.candidates}
    assert first.best == second.best


def test_a_raised_stop_leaves_a_partial_answer() -> None:
    stop = Stop()
    tools = StandInToolchain()

    def listen(event: Event) -> None:
        if isinstance(event, CandidateEnded) and event.done == 3:
            stop.raise_flag("cancelled")

    result = tune(request_for(new_ir(schedules=4)), events=listen, toolchain=tools, stop=stop)
    assert (result.partial, result.stopped_by) == (True, "cancelled")
    assert [c.outcome for c in result.candidates].count(Outcome.SKIPPED) == 4
    assert result.best is not None


def test_known_candidates_are_not_built() -> None:
    request = request_for(new_ir(schedules=2))
    first, _ = run(request)
    known = {c.id: c for c in first.candidates}
    tools = StandInToolchain()
    second, _ = run(request, tools, known=known.get)
    assert tools.compiled == []
    assert second.best == first.best


def test_infeasible_is_not_unknown() -> None:
    infeasible, _ = run(request_for(new_ir(infeasible=True)))
    assert infeasible.ending is Ending.INFEASIBLE
    unknown, _ = run(
        replace(request_for(new_ir(seconds=30.0)), budget=TuneBudget(solve_seconds=0.05, wall_seconds=0.2))
    )
    assert unknown.ending is Ending.UNKNOWN


class Searching(StandInToolchain):
    """Keeps how long each search for proposals may last."""

    def propose(self, kernels: Mapping[int, KernelRead], request: TuneRequest, patience: Patience) -> Proposals:
        self.allowed = patience.seconds
        return super().propose(kernels, request, patience)


@pytest.mark.parametrize(("device", "most"), [(True, 0.4 * 55.0), (False, 60.0)])
def test_a_search_leaves_time_for_the_device(device: bool, most: float) -> None:
    """One of four jobs that shared a device spent its 55 s before its first kernel was built."""
    tools = Searching(device=device)
    run(replace(request_for(new_ir()), budget=TuneBudget(wall_seconds=55.0)), tools)
    assert tools.allowed <= most
    assert device or tools.allowed == most


def record(
    name: str, outcome: Outcome, forecast: float | None = None, measured: float | None = None, **more: Any
) -> Any:
    kind = more.pop("kind", CandidateKind.SCHEDULED)
    return Candidate(name, 0, kind, outcome, forecast_ns=forecast, measured_ns=measured, **more)


def test_only_a_measured_candidate_beats_a_measured_one() -> None:
    records = [
        record("dream", Outcome.COMPILED, forecast=1.0),
        record("real", Outcome.MEASURED, forecast=90.0, measured=100.0),
        record("hung", Outcome.TIMED_OUT, forecast=0.5),
        record("wrong", Outcome.WRONG_RESULT, forecast=0.5, measured=0.1),
        record("busy", Outcome.CONTENDED, measured=0.1),
    ]
    best = best_of(records)
    assert best is not None
    assert best.id == "real"
    assert [r.id for r in ranked(records)] == ["real", "dream"]


def timed(name: str, ns: float, **more: Any) -> Any:
    return record(name, Outcome.MEASURED, measured=ns, measurement={"spread_ns": 2.0}, **more)


def test_equal_times_have_one_winner_by_forecast_and_a_tie_set() -> None:
    """Not by identity: the first in the alphabet has the worst forecast."""
    equal = [timed(name, 100.0, forecast=forecast) for name, forecast in (("b", 2.0), ("a", 3.0), ("c", 1.0))]
    near, far = timed("near", 103.0, forecast=0.5), timed("far", 106.0, forecast=0.1)
    for order in (equal, equal[::-1]):
        ranking = ranking_of([far, *order, near])
        assert (ranking.best.id, set(ranking.tied)) == ("near", {"a", "b", "c", "near"})  # type: ignore[union-attr]
        assert ranking.margin == pytest.approx(106 / 103 - 1)
        assert ranking.order[-1].id == "far"


def test_a_schedule_has_to_be_better_than_the_compilers_own_choice() -> None:
    default = timed("default", 101.0, kind=CandidateKind.DEFAULT)
    assert best_of([timed("ours", 100.0, forecast=1.0), default]) == default
    ours = timed("ours", 95.0, forecast=1.0)
    assert best_of([ours, default]) == ours


def rounds(session: str, *figures: float) -> dict[str, Any]:
    return {"protocol": "gpu-1", "rounds_ns": list(figures), "session": session}


def test_the_rounds_of_the_last_session_decide() -> None:
    """Round by round, so that drift common to both cancels; a time of another session is no time of this one."""
    drift = [100.0, 120.0, 90.0, 110.0, 105.0]
    fast = record("fast", Outcome.MEASURED, measured=105.0, measurement=rounds("2", *drift))
    slow = record("slow", Outcome.MEASURED, measured=107.0, measurement=rounds("2", *(d * 1.02 for d in drift)))
    old = record("old", Outcome.MEASURED, measured=1.0, measurement=rounds("1", 1.0, 1.0, 1.0, 1.0, 1.0))
    ranking = ranking_of([old, slow, fast])
    assert [r.id for r in ranking.order] == ["fast", "slow", "old"]
    assert ranking.tied == ("fast",)
    assert ranking.margin == pytest.approx(0.02)


def test_equal_forecasts_tie_where_nothing_was_measured() -> None:
    same = [
        record(name, Outcome.COMPILED, forecast=5.0, structure={"depth": depth})
        for name, depth in (("a", "4"), ("b", "3"))
    ]
    ranking = ranking_of([record("worse", Outcome.COMPILED, forecast=6.0), *same])
    assert ranking.best is not None
    assert (ranking.best.structure, ranking.tied) == ({"depth": "3"}, ("b", "a"))
    assert ranking.margin == pytest.approx(0.2)


def test_cycles_rank_where_the_cost_model_has_no_clock() -> None:
    """The first in the alphabet, which a ranking by identity would crown, needs most cycles."""
    records = [
        record(name, Outcome.SOLVED, forecast_cycles=cycles) for name, cycles in (("a", 300), ("b", 200), ("c", 250))
    ]
    default = record("0", Outcome.SOLVED, forecast_cycles=240, kind=CandidateKind.DEFAULT)
    ranking = ranking_of([default, *records])
    assert [r.id for r in ranking.order] == ["b", "0", "c", "a"]
    assert ranking.tied == ("b",)
    assert ranking.margin == pytest.approx(0.2)


def test_equal_cycles_tie_and_structure_breaks_the_tie_whatever_the_ids_are() -> None:
    for names in (("a", "b"), ("b", "a")):
        pair = [
            record(name, Outcome.SOLVED, forecast_cycles=100, structure={"x": count})
            for name, count in zip(names, ("2 iteration", "3 iteration"), strict=True)
        ]
        ranking = ranking_of(pair[::-1])
        assert ranking.best is not None
        assert (ranking.best.structure, set(ranking.tied)) == ({"x": "2 iteration"}, {"a", "b"})


def test_without_a_cost_nothing_is_ranked() -> None:
    ours = [record(name, Outcome.SOLVED) for name in ("a", "b")]
    default = record("d", Outcome.SOLVED, kind=CandidateKind.DEFAULT)
    ranking = ranking_of([*ours, default])
    assert (ranking.best, ranking.tied, ranking.note) == (None, (), NOT_RANKED)
    assert len(ranking.order) == 3
    alone = ranking_of([default])
    assert (alone.best, alone.note) == (default, "solved, not compiled")


def test_building_leaves_time_to_measure_what_was_built() -> None:
    """A whole budget spent on building answered 'compiled, not measured' beside an idle device."""
    budget = TuneBudget(candidates=40, wall_seconds=6.0)
    request = replace(request_for(new_ir(schedules=40, seconds=0.4)), budget=budget)
    result, _ = run(request, StandInToolchain(device=True))
    outcomes = [candidate.outcome for candidate in result.candidates]
    assert Outcome.MEASURED in outcomes
    assert Outcome.SKIPPED in outcomes
    assert (result.partial, result.stopped_by, result.note) == (True, "budget", "measured")


def test_a_build_that_hangs_leaves_time_to_measure_the_others() -> None:
    """Even our best forecast may be what never ends to be built; it is no fault of the candidate that the time was up."""
    budget = TuneBudget(candidates=1, wall_seconds=6.0)
    request = replace(request_for(new_ir(schedules=1, faults={0: "hang"})), budget=budget)
    result, _ = run(request, StandInToolchain(device=True))
    outcomes = {candidate.kind: candidate.outcome for candidate in result.candidates}
    assert outcomes == {
        CandidateKind.UNSPECIALIZED: Outcome.MEASURED,
        CandidateKind.DEFAULT: Outcome.MEASURED,
        CandidateKind.SCHEDULED: Outcome.SKIPPED,
        CandidateKind.ROLE_BASED: Outcome.SKIPPED,
    }
    assert (result.partial, result.stopped_by, result.note) == (True, "budget", "measured")


def test_the_source_of_a_repaired_build_says_that_it_was_repaired() -> None:
    class Repaired(StandInToolchain):
        def compile(self, *args: Any) -> Built:
            built = super().compile(*args)
            return replace(built, report={**built.report, "fences_added": 2})

    result, _ = run(request_for(new_ir(schedules=0)), Repaired())
    assert all("fenced" in candidate.source for candidate in result.candidates)
    plain, _ = run(request_for(new_ir(schedules=0)))
    assert not any("fenced" in candidate.source for candidate in plain.candidates)


class Gemm(StandInToolchain):
    """The stand-in on the graph of a real GEMM, whose default choice the verifier judges."""

    violations: tuple[Violation, ...] = ()

    def read(self, ir: str, profile: HardwareProfile, patience: Any) -> KernelRead:
        return replace(super().read(ir, profile, patience), graph=gemm_graph(4096, 4096, 4096, 128, 128, 64, 3, 2))

    def verify(self, kernel: Any, profile: Any, schedule: Any) -> tuple[Violation, ...]:
        self.judged = schedule
        return self.violations


def test_the_compilers_own_choice_carries_the_verdict_of_our_verifier() -> None:
    tools = Gemm(device=True)
    tools.violations = (Violation("register_pool", "pool", "too many", "roles"),)
    result, _ = run(request_for(new_ir(schedules=0)), tools)
    verdicts = {c.kind: c.report.get("verifier") for c in result.candidates}
    expected = {
        "threads": 384,
        "violations": [{"family": "register_pool", "rule": "pool", "message": "too many", "place": "roles"}],
    }
    assert verdicts[CandidateKind.DEFAULT] == expected
    assert verdicts[CandidateKind.ROLE_BASED] is not None
    assert verdicts[CandidateKind.UNSPECIALIZED] is None, "no roles, nothing to judge"
    assert all(c.outcome is Outcome.MEASURED for c in result.candidates), "a rule that is too strict shows itself"
    assert [c.kind for c in result.candidates if c.id == result.best] == [CandidateKind.UNSPECIALIZED], "never crowned"


def test_a_choice_that_was_not_built_is_not_judged() -> None:
    tools = Gemm(device=True)
    result, _ = run(request_for(new_ir(schedules=0, faults={-1: "compile_failed"})), tools)
    assert all("verifier" not in c.report for c in result.candidates)
