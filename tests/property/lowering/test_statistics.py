"""Statistics of times as pure functions: order, scale and noise."""

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpwright.lowering.measure.protocol import GPU_1, PROTOCOLS
from warpwright.lowering.measure.statistics import finalists, quantile, summary, verdict

TIMES = st.lists(st.floats(1.0, 1e9, allow_nan=False), min_size=1, max_size=40)
NAMES = st.dictionaries(
    st.text(st.characters(categories=["Ll"]), min_size=1, max_size=4), st.floats(1.0, 1e6), min_size=1
)


@given(TIMES)
def test_a_summary_lies_within_its_samples(times: list[float]) -> None:
    found = summary(times)
    assert min(times) == found.minimum_ns <= found.p10_ns <= found.median_ns <= found.p90_ns <= max(times)
    assert 0 <= found.spread_ns <= (max(times) - min(times)) / 2 + 1e-6
    assert found.count == len(times)


@given(TIMES, st.randoms())
def test_order_of_samples_does_not_matter(times: list[float], shuffler: random.Random) -> None:
    shuffled = list(times)
    shuffler.shuffle(shuffled)
    assert summary(shuffled) == summary(times)


@given(TIMES, st.integers(1, 8))
def test_times_scale_with_their_unit(times: list[float], power: int) -> None:
    assert median([t * 2**power for t in times]) == median(times) * 2**power


@given(st.lists(st.floats(1.0, 1e6), min_size=5, max_size=30), st.floats(1e7, 1e12))
def test_one_outlier_moves_the_median_no_further_than_a_neighbour(times: list[float], outlier: float) -> None:
    assert median([*times, outlier]) <= max(times)


@given(NAMES, st.floats(0.0, 0.5), st.integers(1, 10))
def test_finalists_are_the_fastest_within_the_margin(medians: dict[str, float], margin: float, most: int) -> None:
    chosen = finalists(medians, margin, most)
    best = min(medians.values())
    assert 1 <= len(chosen) <= most
    assert medians[chosen[0]] == best
    assert all(medians[name] <= best * (1 + margin) for name in chosen)
    left_out = [time for name, time in medians.items() if name not in chosen and time <= best * (1 + margin)]
    assert not left_out or (len(chosen) == most and min(left_out) >= max(medians[name] for name in chosen))


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.floats(1.0, 2.0), min_size=7, max_size=7), min_size=1))
def test_the_winner_is_always_among_the_tied_and_the_fastest_ties_with_itself(rounds: dict[str, list[float]]) -> None:
    found = verdict(rounds, 0.002)
    assert found.winner == found.order[0]
    assert found.order[0] in found.tied
    assert set(found.tied) <= set(rounds)
    assert (found.margin is None) == (len(found.tied) == len(rounds))


@given(st.lists(st.floats(0.5, 2.0), min_size=5, max_size=15), st.floats(0.05, 0.5))
def test_drift_common_to_all_does_not_hide_a_real_difference(drift: list[float], lead: float) -> None:
    rounds = {"fast": [100.0 * d for d in drift], "slow": [100.0 * (1 + lead) * d for d in drift]}
    found = verdict(rounds, 0.002)
    assert found.tied == ("fast",)
    assert found.margin == pytest.approx(lead)


def test_equal_candidates_give_the_same_winner_in_twenty_noisy_jobs() -> None:
    winners, sizes = set(), []
    for job in range(20):
        noise = random.Random(job)
        rounds = {name: [noise.gauss(100, 5) for _ in range(GPU_1.rounds)] for name in "abcde"}
        found = verdict(rounds, GPU_1.tie_margin, preference=("c",))
        winners.add(found.winner)
        sizes.append(len(found.tied))
    assert winners == {"c"}
    assert min(sizes) >= 2


def test_a_tied_candidate_behind_the_baseline_does_not_win() -> None:
    rounds = {
        "default": [3.46, 3.61, 3.87, 3.70, 3.73, 3.56, 3.67, 3.40, 3.46],
        "ours": [3.50, 3.60, 3.86, 3.71, 3.74, 3.58, 3.66, 3.45, 3.50],
    }
    found = verdict(rounds, 0.005, preference=("ours",), baselines=("default",))
    assert found.tied == ("default", "ours")
    assert found.winner == "default"
    assert verdict(rounds, 0.005, preference=("ours",)).winner == "ours"


def test_rounds_of_a_power_limited_chip_are_compared_round_by_round() -> None:
    """Figures of an H200 under its power limit: clocks move all, so only the ratios of a round say anything."""
    persistent = [1.635, 1.640, 1.634, 1.636, 1.617, 1.681, 1.676, 1.624, 1.636]
    library = [1.418, 1.755, 1.951, 1.676, 1.677, 1.733, 1.735, 1.690, 1.734]
    found = verdict({"persistent": persistent, "library": library}, 0.005)
    assert found.tied == ("persistent",)
    assert found.margin == pytest.approx(0.04, abs=0.02)


def test_preference_decides_among_ties_only() -> None:
    rounds = {"new": [90.0, 91.0, 90.5, 90.2], "default": [100.0, 101.0, 100.5, 100.2]}
    assert verdict(rounds, 0.002, preference=("default",)).winner == "new"


def test_no_samples_have_no_quantile() -> None:
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


def test_a_protocols_name_stands_for_its_numbers() -> None:
    """Change a number and you change what every stored time means: give it a new name and keep the old one."""
    digests = {name: protocol.digest()[7:19] for name, protocol in PROTOCOLS.items()}
    assert digests == {"gpu-1": "6468f732d27c", "gpu-1-rested": "b1176b02d6a1"}
