"""The ranking benchmark: files in, order out. Scores on made-up files; forecasts on the measured ones of this repository."""

import json
from pathlib import Path

import pytest

from benchmarks.calibrate import RANGES, fit, samples_of, with_constants
from benchmarks.calibrate_priors import prior_values
from benchmarks.ranking import Entry, forecast, read_landscape, score
from warpwright.solver.forecast.rank_correlation import kendall_tau, top_fraction
from warpwright.solver.profiles import load_profile

H200 = load_profile("h200")
MEASURED = sorted((Path(__file__).parents[4] / "docs" / "results" / "landscapes").glob("*[0-9].json"))


def test_tau_of_equal_opposite_and_constant_orders() -> None:
    assert kendall_tau([1, 2, 3, 4], [10, 20, 30, 40]) == 1.0
    assert kendall_tau([1, 2, 3, 4], [4, 3, 2, 1]) == -1.0
    assert kendall_tau([1, 1, 1], [1, 2, 3]) is None


def test_tau_b_counts_ties_on_both_sides() -> None:
    # Three untied pairs of six are concordant, none discordant; one tie each side: 4 / sqrt(5 * 5).
    assert kendall_tau([1, 1, 2, 3], [1, 2, 2, 3]) == pytest.approx(4 / 5)


def test_top_fraction_is_best_over_best_of_the_chosen() -> None:
    assert top_fraction([3, 1, 2], [1.0, 2.0, 4.0], count=2) == 0.5
    assert top_fraction([1, 2, 3], [1.0, 2.0, 4.0], count=1) == 1.0


def test_failed_entries_and_library_rows_are_left_out(tmp_path: Path) -> None:
    rows = [
        {"spec": "torch", "ms": 1.0},
        {"spec": {"kind": "ws", "a": [4096, 4096, 4096, 128, 256, 64, 3, 2, 24, 240]}, "ms": 2.0, "relerr": None},
        {"spec": {"kind": "ws", "a": [4096, 4096, 4096, 128, 256, 64, 4, 2, 24, 240]}, "ok": False, "err": "too large"},
        {"spec": {"kind": "nows", "a": [4096, 4096, 4096, 128, 256, 64, 3, 2]}, "ms": float("nan")},
    ]
    path = tmp_path / "landscape.json"
    path.write_text(json.dumps(rows))
    landscape = read_landscape(path)
    assert [entry.ms for entry in landscape.entries] == [2.0]
    assert not landscape.attention


@pytest.mark.parametrize(
    ("rows", "attention"),
    [
        (
            [
                {"spec": "cudnn", "ms": 1},
                {"spec": {"kind": "ws", "a": [4, 16, 1024, 64, 128, 128, 2, 2, 24, 240]}, "ms": 1},
            ],
            True,
        ),
        ([{"spec": {"kind": "plain", "a": [4, 16, 1024, 64, 128, 128, 2, 2, 0, 0]}, "ms": 1}], True),
        ([{"spec": {"kind": "plain", "a": [512, 512, 8192, 128, 128, 64, 2, 2]}, "ms": 1}], False),
        ([{"spec": {"kind": "ws", "a": [4, 16, 1024, 64, 128, 128, 2, 2, 24, 240]}, "ms": 1}], True),
        ([{"spec": {"kind": "ws", "a": [512, 512, 8192, 128, 256, 64, 2, 2, 24, 240]}, "ms": 1}], False),
    ],
)
def test_attention_is_told_from_gemm(tmp_path: Path, rows: list[dict[str, object]], attention: bool) -> None:
    path = tmp_path / "landscape.json"
    path.write_text(json.dumps(rows))
    assert read_landscape(path).attention == attention


def test_what_is_no_landscape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "landscape.json"
    path.write_text('{"spec": 1}')
    with pytest.raises(ValueError, match="a landscape is a JSON list"):
        read_landscape(path)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind 'magic'"):
        forecast(Entry("magic", (4096, 4096, 4096, 128, 128, 64, 3, 2), 1.0), H200, attention=False)


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.stem)
def test_measured_landscapes_are_ordered(path: Path) -> None:
    result = score(path, H200)
    assert result["n"] == len(read_landscape(path).entries)
    tau, top = result["kendall_tau"], result["top8_fraction"]
    assert isinstance(tau, float)
    assert isinstance(top, float)
    assert tau > 0.6, result
    assert top > 0.95, result


def test_samples_gather_what_the_simulator_cannot_tell_apart() -> None:
    samples = samples_of(MEASURED[:1])
    assert sum(sample.weight for sample in samples) == pytest.approx(1.0)
    assert len(samples) < len(read_landscape(MEASURED[0]).entries)


def test_constants_replace_numbers_and_change_the_digest() -> None:
    slower = with_constants(H200, {"model.load_latency": RANGES["model.load_latency"][2]}, "a test")
    assert slower.digest != H200.digest
    entry = Entry("ws", (4096, 4096, 4096, 128, 128, 64, 2, 2, 24, 240), 1.0)
    assert forecast(entry, slower, attention=False).nanoseconds > forecast(entry, H200, attention=False).nanoseconds


def test_priors_are_inside_their_ranges() -> None:
    for path, value in prior_values(H200).items():
        assert RANGES[path][1] < value < RANGES[path][2], path


def test_what_a_file_does_not_tell_stays_at_its_prior() -> None:
    """A GEMM knows nothing of special functions or of spilled products; load latency it knows well."""
    (path,) = [path for path in MEASURED if path.stem == "gemm_4096_4096_4096"]
    samples = [sample for sample in samples_of([path]) if sample.entry.kind == "ws"][:8]
    prior = prior_values(H200)
    found = fit(H200, samples, prior, ["model.load_latency", "model.serial_latency"], steps=1)
    assert found.values["model.serial_latency"] == prior["model.serial_latency"]
    assert found.told["model.serial_latency"] == 0.0
    assert found.values["model.load_latency"] != prior["model.load_latency"]
    assert 0.1 < found.told["model.load_latency"] <= 1.0
    assert {name for name in prior if found.values[name] != prior[name]} == {"model.load_latency"}
