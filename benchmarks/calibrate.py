"""Fits the simulator's ``model.`` numbers to measured landscapes: ``python -m benchmarks.calibrate FILE... [--profile h200]``.

Each entry's residual is the logarithm of forecast over measured time. Gauss-Newton steps on finite differences, weighted so
that outliers count by their size and not its square, keep every number inside its physical range. Prints the constants as
lines of a profile's ``[model]`` table, with the files as their source, and how well they order the files.
"""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.ranking import Entry, forecast, kendall_tau, read_landscape, score
from solver.domain import HardwareProfile, Origin, Quantity, digest_text
from solver.profiles import load_profile

__all__ = ["RANGES", "Sample", "fit", "samples_of", "with_constants"]

RANGES: dict[str, tuple[str, float, float]] = {
    "model.fill_bytes_per_cycle": ("bytes/cycle", 36, 100),
    "model.load_latency": ("cycles", 500, 1500),
    "model.gemm_overhead": ("cycles", 0, 200),
    "model.copy_bytes_per_cycle": ("bytes/cycle", 40, 110),
    "model.stream_ratio": ("ratio", 0.3, 1.0),
    "model.alu_ratio": ("ratio", 0.4, 1.0),
    "model.block_cycles": ("cycles", 0, 3000),
    "model.serial_latency": ("cycles", 20, 600),
    "model.spill_cycles": ("cycles", 0, 200),
    "model.phase": ("ratio", 0.0, 1.0),
    "model.sync_cycles": ("cycles", 0, 200),
    "model.arrive_cycles": ("cycles", 0, 0.4),
    "model.power_tensor": ("ratio", 0.2, 1.6),
    "model.power_shared": ("ratio", 0.0, 1.2),
    "model.launch": ("ns", 500, 5000),
}
"""Unit and physical range of every fitted number."""
HUBER = 0.1
"""Residuals beyond 10 % count by their size only."""
PROBE = 0.06
"""Finite difference, as a share of a number's range."""
LONGEST_STEP = 0.35
PRIOR = 0.02
"""Weight of a number's squared distance from its start, in shares of its range: what a file cannot tell stays put.

Attention hides the latency of loads, and a GEMM knows nothing of exponentials; without a prior such numbers drift for the
last tenth of a percent and spoil the forecasts of the other kind.
"""

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
        ValueError: a file is no landscape.
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


def fit(
    profile: HardwareProfile, samples: Sequence[Sample], start: Mapping[str, float], names: Sequence[str], steps: int
) -> dict[str, float]:
    """The numbers ``names`` fitted to the samples, the others as in ``start``; none strays without need."""
    measured = np.array([sample.log_ms for sample in samples])
    weights = np.array([sample.weight for sample in samples])
    values = dict(start)
    predicted = _predict(profile, samples, values)
    best = _cost(predicted - measured, weights, _distances(values, start, names))
    for _ in range(steps):
        jacobian = np.zeros((len(samples), len(names)))
        for column, name in enumerate(names):
            _, low, high = RANGES[name]
            probe = PROBE if values[name] + PROBE * (high - low) <= high else -PROBE
            moved = {**values, name: values[name] + probe * (high - low)}
            jacobian[:, column] = (_predict(profile, samples, moved) - predicted) / probe
        away = _distances(values, start, names)
        direction = _step(jacobian, predicted - measured, weights, values, names, away)
        tried = []
        for scale in (1.0, 0.5):
            moved = {**values, **_moved(values, names, scale * direction)}
            outcome = _predict(profile, samples, moved)
            tried.append((_cost(outcome - measured, weights, _distances(moved, start, names)), moved, outcome))
        cost, moved, outcome = min(tried, key=lambda item: item[0])
        if cost >= best:
            break
        best, values, predicted = cost, moved, outcome
    return values


def _distances(values: Mapping[str, float], start: Mapping[str, float], names: Sequence[str]) -> Vector:
    """How far each number is from its start, in shares of its range."""
    return np.array([(values[n] - start[n]) / (RANGES[n][2] - RANGES[n][1]) for n in names])


def _predict(profile: HardwareProfile, samples: Sequence[Sample], values: Mapping[str, float]) -> Vector:
    changed = with_constants(profile, values, "calibration")
    times = [forecast(s.entry, changed, attention=s.attention).nanoseconds / 1e6 for s in samples]
    logarithms: Vector = np.log(np.array(times))
    return logarithms


def _cost(residuals: Vector, weights: Vector, away: Vector) -> float:
    size = np.abs(residuals)
    misfit = (weights * np.where(size < HUBER, size * size / (2 * HUBER), size - HUBER / 2)).sum()
    return float(misfit / weights.sum() + PRIOR * (away * away).sum())


def _moved(values: Mapping[str, float], names: Sequence[str], direction: Vector) -> dict[str, float]:
    moved = {}
    for index, name in enumerate(names):
        _, low, high = RANGES[name]
        moved[name] = min(high, max(low, values[name] + float(direction[index]) * (high - low)))
    return moved


def _step(
    jacobian: Vector,
    residuals: Vector,
    weights: Vector,
    values: Mapping[str, float],
    names: Sequence[str],
    away: Vector,
) -> Vector:
    """Projected, reweighted least squares with the prior, in units of each number's range."""
    room = [((RANGES[n][1] - values[n]) / (RANGES[n][2] - RANGES[n][1])) for n in names]
    low = np.maximum(np.array(room), -LONGEST_STEP)
    high = np.minimum(np.array(room) + 1.0, LONGEST_STEP)
    position = np.zeros(len(names))
    for _ in range(300):
        now = residuals + jacobian @ position
        scaled = weights / weights.sum() / np.maximum(np.abs(now), HUBER)
        hessian = (jacobian * scaled[:, None]).T @ jacobian + 2 * PRIOR * np.eye(len(names))
        gradient = (jacobian * scaled[:, None]).T @ now + 2 * PRIOR * (away + position)
        following = np.clip(position - 0.5 * np.linalg.solve(hessian, gradient), low, high)
        if np.abs(following - position).max() < 1e-4:
            return following
        position = following
    return position


def report(profile: HardwareProfile, samples: Sequence[Sample]) -> list[dict[str, object]]:
    """Rank correlation and mean error of each file's samples under the profile."""
    rows: list[dict[str, object]] = []
    for file in dict.fromkeys(sample.file for sample in samples):
        mine = [sample for sample in samples if sample.file == file]
        times = [math.log(forecast(s.entry, profile, attention=s.attention).nanoseconds / 1e6) for s in mine]
        tau = kendall_tau(times, [sample.log_ms for sample in mine])
        error = sum(abs(t - s.log_ms) for t, s in zip(times, mine, strict=True)) / len(mine)
        rows.append({"file": file, "kendall_tau": round(tau, 4), "mean_error": round(error, 4)})
    return rows


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--profile", default="h200", help="profile whose numbers are the start")
    parser.add_argument("--free", default="", help="comma-separated names to fit; all by default")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument(
        "--from-scratch", action="store_true", help="start in the middle of each range, not from the profile"
    )
    parser.add_argument(
        "--against", nargs="*", type=Path, default=[], help="files to report on that the fit does not see"
    )
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile)
    samples = samples_of(arguments.files)
    start = {
        path: profile.number(path, unit) if profile.has(path) and not arguments.from_scratch else (low + high) / 2
        for path, (unit, low, high) in RANGES.items()
    }
    names = [name for name in arguments.free.split(",") if name] or list(RANGES)
    values = fit(profile, samples, start, names, arguments.steps)
    source = ", ".join(path.name for path in arguments.files)
    print("[model]")
    for path, value in values.items():
        unit = RANGES[path][0]
        short = path.removeprefix("model.")
        print(f'{short} = {{ value = {round(value, 4)}, unit = "{unit}", origin = "fitted", source = "{source}" }}')
    fitted = with_constants(profile, values, source)
    for row in report(fitted, samples):
        print("#", json.dumps(row))
    for path in arguments.against:
        print("# not seen by the fit:", json.dumps(score(path, fitted)))


if __name__ == "__main__":
    main()
