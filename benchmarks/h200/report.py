"""The JSON document and the short table of a run."""

import json
import os
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["table", "write"]

BOOST_MHZ = 1980
"""Boost clock of an H200; a clock under nine tenths of it at the end of the rounds says that the power limit was reached."""


def write(folder: Path, document: dict[str, Any]) -> None:
    """Writes ``h200.json`` and ``h200.md``, each replaced in one step, so that a run cut short leaves whole files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("h200.json", json.dumps(document, indent=1, sort_keys=False)), ("h200.md", table(document))):
        fresh = folder / f".{name}.new"
        fresh.write_text(text)
        os.replace(fresh, folder / name)


def table(document: dict[str, Any]) -> str:
    """Markdown: one section per problem; times are medians of interleaved rounds, ratios medians of each
    round's own.
    """
    lines = [f"# Measured on {document.get('device', {}).get('name', 'no device')}", ""]
    lines += [f"{key}: {value}" for key, value in document.get("facts", {}).items()]
    lines += [f"wall time {document.get('wall_seconds', 0):.0f} s, protocol {document.get('protocol')}", ""]
    for problem in document["problems"].values():
        lines += [f"## {problem['title']}", "", *_rounds(problem, problem), "", *_counts(problem), ""]
        if rested := problem.get("rested"):
            title = f"At the boost clock (protocol {document.get('rested_protocol')}; {_conditions(rested)}):"
            lines += [title, "", *_rounds(problem, rested), ""]
        lines += [*_all(problem), ""]
    return "\n".join(lines) + "\n"


def _rounds(problem: dict[str, Any], measured: dict[str, Any]) -> list[str]:
    """Table of one set of rounds: ``measured`` is the problem's own record, or its record under another protocol."""
    rounds = measured.get("rounds_ns") or {}
    if not rounds:
        return ["No rounds."]
    rows = {name: median(times) / 1e6 for name, times in rounds.items()}
    against = rounds.get(problem["yardsticks"][0])
    entries = problem["candidates"]
    lines = [
        "| what | ms | TFLOP/s | against " + problem["yardsticks"][0] + " | forecast ms | note |",
        "|---|---|---|---|---|---|",
    ]
    for name, ms in sorted(rows.items(), key=lambda row: row[1]):
        entry = entries.get(name, {})
        forecast = entry.get("forecast_ns")
        note = "winner" if name == measured.get("winner") else "ties" if name in measured.get("tied", []) else ""
        tflops = problem["flops"] / ms / 1e9
        ratio = f"{median([a / b for a, b in zip(against, rounds[name], strict=True)]):.3f}" if against else ""
        guess = f"{forecast / 1e6:.3f}" if forecast else ""
        lines.append(f"| {entry.get('label', name)} | {ms:.4f} | {tflops:.0f} | {ratio} | {guess} | {note} |")
    return lines


def _counts(problem: dict[str, Any]) -> list[str]:
    entries = [entry for entry in problem["candidates"].values() if "kind" in entry]
    built = sum(bool(entry.get("built")) for entry in entries)
    measured = sum(entry.get("outcome") == "measured" for entry in entries)
    conditions = _conditions(problem)
    seconds = ", ".join(f"{step} {value:.0f} s" for step, value in problem.get("seconds", {}).items())
    lines = [f"{len(entries)} planned, {built} built, {measured} measured; {seconds}; {conditions}."]
    failures = [(name, entry["failure"]) for name, entry in problem["candidates"].items() if entry.get("failure")]
    lines += [f"- failed: {name}: {failure[:200]}" for name, failure in failures]
    lines += [f"- {note[:300]}" for note in problem.get("notes", [])]
    return lines


def _conditions(measured: dict[str, Any]) -> str:
    before, after = measured.get("rounds_before") or {}, measured.get("rounds_after") or {}
    conditions = (
        f"clocks {before.get('sm_clock_mhz')} to {after.get('sm_clock_mhz')} MHz, "
        f"power {before.get('power_watts')} to {after.get('power_watts')} W, "
        f"{before.get('temperature_celsius')} to {after.get('temperature_celsius')} C"
    )
    clock = before.get("sm_clock_mhz") or 0
    if clock and (after.get("sm_clock_mhz") or 0) < 0.9 * BOOST_MHZ:
        conditions += f" (power-limited: the boost clock is {BOOST_MHZ} MHz)"
    return conditions


def _all(problem: dict[str, Any]) -> list[str]:
    """Every correct candidate by its screening time, with the forecast that was made before it."""
    rows = [entry for entry in problem["candidates"].values() if entry.get("screening_ms") and entry.get("forecast_ns")]
    if not rows:
        return []
    lines = [
        "All, by the interleaved screening:",
        "",
        "| what | ms | forecast ms | registers | spills |",
        "|---|---|---|---|---|",
    ]
    for entry in sorted(rows, key=lambda entry: float(entry["screening_ms"])):
        ptxas = entry.get("ptxas") or {}
        lines.append(
            f"| {entry['label']} | {entry['screening_ms']:.4f} | {entry['forecast_ns'] / 1e6:.3f} "
            f"| {ptxas.get('registers', '')} | {ptxas.get('spill_store_bytes', '')} |"
        )
    return lines
