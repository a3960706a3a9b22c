"""The sentence about an answer, on what an H200 measured, and on what may be missing."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from warpwright.solver.domain import Candidate, CandidateKind, Failure, Outcome
from warpwright.solver.profiles import load_profile
from warpwright.tuning.answer_sentence import Answered, answer_sentence, half_width
from warpwright.tuning.ranking import best_of, ranking_of
from warpwright.tuning.result import Ending

ROOT = Path(__file__).resolve().parents[3]
FLOPS = 4 * 4 * 16 * 8192 * 8192 * 128
"""Of the attention: 4 batches, 16 heads, 8192 by 8192 scores, 128 elements a head, two products."""


def tuned(flops: int = FLOPS) -> dict[str, Any]:
    """The recorded tuning as what is known of its answer; ``flops`` as its build would write them today."""
    device = load_profile("h200")
    peak = 2 * 2048 * device.number("sm.count", "count") * device.number("sm.clock_tensor_peak", "MHz") / 1e6
    work = {"flops": flops, "global_bytes": 2**28, "operands": "bf16", "peak_tflops": peak}
    document = json.loads((ROOT / "docs/results/h200/tune_attention.json").read_text())
    candidates = [
        Candidate(
            entry["id"],
            entry["variant"],
            CandidateKind(entry["kind"]),
            Outcome(entry["outcome"]),
            forecast_ns=entry["forecast_ns"],
            measured_ns=entry["measured_ns"],
            measurement=entry["measurement"],
            report={**entry["report"], "roofline": {**work, "clock_mhz": 1830.0, "bandwidth_gb_per_second": 4814.0}},
        )
        for entry in document["candidates"]
    ]
    ranking = ranking_of(candidates)
    baseline = best_of([each for each in candidates if each.kind is not CandidateKind.SCHEDULED])
    return {
        "ending": Ending.TUNED,
        "winner": ranking.best,
        "baseline": baseline,
        "tied": len(ranking.tied) - 1,
        "margin": ranking.margin,
    }


def test_an_h200s_attention_is_told_in_one_sentence() -> None:
    said = answer_sentence(Answered(**tuned(), libraries={"cuDNN": 3_649_000.0}))
    assert said.text == (
        "1.155× over the compiler's best (±3.0 %, 15 rounds), 662 TFLOP/s = 67 % of the device's bf16 peak, "
        "1.10× of cuDNN; ties with 1; measured at the power limit (1,650 MHz), driver 580.159.04; "
        "not checked at another size"
    )
    assert [part.name for part in said.parts if not part.known] == ["sizes"]


def test_what_is_missing_is_said() -> None:
    said = {part.name: part for part in answer_sentence(Answered(**tuned(0))).parts}
    assert said["throughput"].text == "81 GB/s = 2 % of the device's memory peak", "the products' number is not known"
    assert said["library"].text == "not compared with a vendor library"
    old = tuned()
    bare = Candidate("c", 0, CandidateKind.SCHEDULED, Outcome.MEASURED, measured_ns=1e5)
    said = {part.name: part for part in answer_sentence(Answered(**old | {"winner": bare, "baseline": None})).parts}
    assert {name for name, part in said.items() if not part.known} >= {"gain", "throughput", "library", "sizes"}
    assert said["conditions"].text == "measured at a clock that was not recorded, driver not recorded"


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"ending": Ending.INFEASIBLE, "families": ["shared_memory"]}, "proven impossible: no legal schedule exists"),
        ({"ending": Ending.UNKNOWN}, "not decided: the budget ended"),
        ({"ending": "", "failure": Failure("worker-lost", "the worker was lost")}, "no answer: the worker was lost"),
        (
            {"ending": Ending.TUNED, "partial": True, "stopped_by": "cancelled"},
            "no answer: nothing usable was found; partial: c",
        ),
    ],
)
def test_without_a_winner_it_says_why(known: dict[str, Any], words: str) -> None:
    assert answer_sentence(Answered(**{"winner": None, **known})).text.startswith(words)


def test_a_forecast_is_never_called_a_measurement() -> None:
    ours = Candidate("a", 0, CandidateKind.SCHEDULED, Outcome.COMPILED, forecast_ns=8e4)
    theirs = Candidate("b", 0, CandidateKind.DEFAULT, Outcome.COMPILED, forecast_ns=1e5)
    said = answer_sentence(Answered(Ending.TUNED, ours, theirs, 0, 0.25))
    assert (said.parts[0].text, said.speedup) == ("1.250× over the compiler's best by forecast, not measured", None)
    assert "nothing was measured" in said.text
    stands = answer_sentence(Answered(Ending.TUNED, theirs, theirs))
    assert stands.text.startswith("the compiler's own choice (default) stands, nothing faster was forecast")


def test_the_interval_of_a_median_needs_six_rounds() -> None:
    assert half_width([1.0] * 5) is None
    assert half_width([1.0, 1.0, 1.0, 1.0, 1.0, 1.2]) == pytest.approx(0.1)
    assert half_width([n / 10 for n in range(10, 25)]) == pytest.approx((2.1 - 1.3) / 2 / 1.7), "ranks 4 and 12 of 15"
    assert math.isclose(half_width([1.0] * 15) or 0.0, 0.0)
