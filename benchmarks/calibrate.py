"""Fits the simulator's ``model.`` numbers to measured landscapes: ``python -m benchmarks.calibrate FILE... [--profile h200]``.

Each entry's residual is the logarithm of forecast over measured time. Gauss-Newton steps on finite differences of the numbers'
logarithms, weighted so that outliers count by their size and not its square, keep every number inside its physical range and
near its prior (:mod:`benchmarks.calibrate_priors`) as long as the files do not say otherwise. Prints the constants as lines of a
profile's ``[model]`` table, with the files as their source and how much they say about each, and how well they order the files.
"""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibrate_priors import PRIORS, prior_values, spreads
from benchmarks.ranking import Entry, forecast, read_landscape, score
from warpwright.solver.domain import HardwareProfile, Origin, Quantity, digest_text
from warpwright.solver.forecast.rank_correlation import kendall_tau
from warpwright.solver.profiles import load_profile

__all__ = ["RANGES", "Fit", "Sample", "fit", "samples_of", "with_constants"]

RANGES: dict[str, tuple[str, float, float]] = {path: (p.unit, p.low, p.high) for path, p in PRIORS.items()}
"""Unit and physical range of every fitted number."""
HUBER = 0.1
"""Residuals beyond 10 % count by their size only."""
PROBE = 0.06
"""Finite difference in the logarithm of a number."""
LONGEST_STEP = 0.5
"""Most that the logarithm of a number moves in one step."""
PRIOR = 0.005
"""Weight of a squared distance of one standard deviation from a number's prior, against the mean misfit of a sample.

That of ten independent samples whose forecasts err by 10 % for reasons of their own; entries of one file are not independent.
"""
SILENT = 1e-4
"""Files say nothing about a number that changes no forecast by this much: it keeps its prior and costs no more forecasts."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Entries of one file that the simulator cannot tell apart, with the mean of their logarithmic times."""

    file: str
    attention: bool
    entry: Entry
    log_ms: float
    weight: float


def samples_of(paths: Sequence[Path]) -> list[Sample]:
    """Samples of landscape files; each file weighs the same.

    Raises:
        ValueError: a file is not a landscape.
    """
    result: list[Sample] = []
    for path in paths:
        landscape = read_landscape(path)
        entries, attention = landscape.entries, landscape.attention
        alike: dict[tuple[object, ...], list[Entry]] = {}
        for entry in entries:
            moved = entry.kind == "ws" and entry.a[9] > 0
            alike.setdefault((entry.kind, entry.a[:8], moved), []).append(entry)
        for group in alike.values():
            mean = sum(math.log(entry.ms) for entry in group) / len(group)
            result.append(Sample(path.name, attention, group[0], mean, len(group) / len(entries)))
    return result


def with_constants(profile: HardwareProfile, values: Mapping[str, float], source: str) -> HardwareProfile:
    """The profile with these fitted numbers; its digest follows them."""
    kept = tuple(quantity for quantity in profile.quantities if quantity.path not in values)
    fitted = tuple(
        Quantity(path, value, RANGES[path][0], Origin.FITTED, source) for path, value in sorted(values.items())
    )
    digest = digest_text(profile.digest + json.dumps(dict(sorted(values.items()))))
    return replace(profile, quantities=(*kept, *fitted), digest=digest)


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted numbers, and for each how much the samples say about it: 0 nothing (it is its prior), 1 everything."""

    values: dict[str, float]
    told: dict[str, float]


def fit(
    profile: HardwareProfile, samples: Sequence[Sample], prior: Mapping[str, float], names: Sequence[str], steps: int
) -> Fit:
    """The numbers ``names`` fitted to the samples, starting from their prior values; the others stay."""
    measured = np.array([sample.log_ms for sample in samples])
    weights = np.array([sample.weight for sample in samples])
    values, free = dict(prior), list(names)
    predicted = _predict(profile, samples, values)
    best = _cost(predicted - measured, weights, _distances(values, prior, free))
    hessian = np.eye(len(free))
    for _ in range(steps):
        jacobian = np.zeros((len(samples), len(free)))
        for column, name in enumerate(free):
            probe = PROBE if values[name] * math.exp(PROBE) <= RANGES[name][2] else -PROBE
            moved = {**values, name: values[name] * math.exp(probe)}
            jacobian[:, column] = (_predict(profile, samples, moved) - predicted) / probe
        heard = [column for column in range(len(free)) if np.abs(jacobian[:, column]).max() * PROBE > SILENT]
        free, jacobian = [free[column] for column in heard], jacobian[:, heard]
        direction, hessian = _step(jacobian, predicted - measured, weights, values, free, prior)
        tried = []
        for scale in (1.0, 0.5):
            moved = {**values, **{n: values[n] * math.exp(scale * d) for n, d in zip(free, direction, strict=True)}}
            outcome = _predict(profile, samples, moved)
            tried.append((_cost(outcome - measured, weights, _distances(moved, prior, free)), moved, outcome))
        cost, moved, outcome = min(tried, key=lambda item: item[0])
        if cost >= best:
            break
        best, values, predicted = cost, moved, outcome
    left = np.diag(np.linalg.inv(hessian)) * 2 * PRIOR if free else np.zeros(0)
    told = dict.fromkeys(names, 0.0) | {name: float(1 - share) for name, share in zip(free, left, strict=True)}
    return Fit(values, told)


def _distances(values: Mapping[str, float], prior: Mapping[str, float], names: Sequence[str]) -> Vector:
    """How far each number is from its prior, in standard deviations of its logarithm."""
    pairs = zip(names, spreads(list(names)), strict=True)
    return np.array([math.log(values[name] / prior[name]) / spread for name, spread in pairs])


def _predict(profile: HardwareProfile, samples: Sequence[Sample], values: Mapping[str, float]) -> Vector:
    changed = with_constants(profile, values, "calibration")
    times = [forecast(s.entry, changed, attention=s.attention).nanoseconds / 1e6 for s in samples]
    logarithms: Vector = np.array([math.log(time) for time in times])
    return logarithms


def _cost(residuals: Vector, weights: Vector, away: Vector) -> float:
    size = np.abs(residuals)
    misfit = (weights * np.where(size < HUBER, size * size / (2 * HUBER), size - HUBER / 2)).sum()
    return float(misfit / weights.sum() + PRIOR * (away * away).sum())


def _step(
    jacobian: Vector,
    residuals: Vector,
    weights: Vector,
    values: Mapping[str, float],
    names: Sequence[str],
    prior: Mapping[str, float],
) -> tuple[Vector, Vector]:
    """Projected, reweighted least squares with the prior: the step in logarithms, and the Hessian in standard deviations."""
    spread, away = np.array(spreads(list(names))), _distances(values, prior, names)
    scaled_jacobian = jacobian * spread
    low = np.array([math.log(RANGES[name][1] / values[name]) for name in names])
    high = np.array([math.log(RANGES[name][2] / values[name]) for name in names])
    low, high = np.maximum(low, -LONGEST_STEP) / spread, np.minimum(high, LONGEST_STEP) / spread
    position, hessian = np.zeros(len(names)), np.eye(len(names))
    for _ in range(300):
        now = residuals + scaled_jacobian @ position
        scaled = weights / weights.sum() / np.maximum(np.abs(now), HUBER)
        hessian = (scaled_jacobian * scaled[:, None]).T @ scaled_jacobian + 2 * PRIOR * np.eye(len(names))
        gradient = (scaled_jacobian * scaled[:, None]).T @ now + 2 * PRIOR * (away + position)
        following = np.clip(position - 0.5 * np.linalg.solve(hessian, gradient), low, high)
        if np.abs(following - position).max() < 1e-4:
            position = following
            break
        position = following
    return position * spread, hessian


def report(profile: HardwareProfile, samples: Sequence[Sample]) -> list[dict[str, object]]:
    """Rank correlation and mean error of each file's samples under the profile."""
    rows: list[dict[str, object]] = []
    for file in dict.fromkeys(sample.file for sample in samples):
        mine = [sample for sample in samples if sample.file == file]
        times = [math.log(forecast(s.entry, profile, attention=s.attention).nanoseconds / 1e6) for s in mine]
        tau = kendall_tau(times, [sample.log_ms for sample in mine])
        error = sum(abs(t - s.log_ms) for t, s in zip(times, mine, strict=True)) / len(mine)
        rows.append({"file": file, "kendall_tau": round(tau or 0.0, 4), "mean_error": round(error, 4)})
    return rows


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--profile", default="h200", help="profile whose device is calibrated")
    parser.add_argument("--free", default="", help="comma-separated names to fit; all by default")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument(
        "--against", nargs="*", type=Path, default=[], help="files to report on that the fit does not see"
    )
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile)
    samples = samples_of(arguments.files)
    names = [name for name in arguments.free.split(",") if name] or list(RANGES)
    found = fit(profile, samples, prior_values(profile), names, arguments.steps)
    source = ", ".join(path.name for path in arguments.files)
    print("[model]")
    for path, value in found.values.items():
        short, told = path.removeprefix("model."), found.told.get(path, 0.0)
        line = f'{short} = {{ value = {round(value, 4)}, unit = "{RANGES[path][0]}", origin = "fitted", source = "{source}" }}'
        print(f"{line}  # the files determine {told:.0%} of it")
    fitted = with_constants(profile, found.values, source)
    for row in report(fitted, samples):
        print("#", json.dumps(row))
    for path in arguments.against:
        print("# not seen by the fit:", json.dumps(score(path, fitted)))


if __name__ == "__main__":
    main()
