"""Sizes of our modules, as a table: the median near 100 lines, nine of ten under 420; the test beside this holds it."""

from pathlib import Path
from statistics import median

__all__ = ["FOLDERS", "ROOT", "line_counts", "ninth_decile", "table"]

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("warpwright", "service", "tuning", "lowering", "solver", "migrations", "benchmarks", "tests")


def line_counts(folder: str) -> dict[str, int]:
    """Lines of every Python module under a top-level folder, packages' ``__init__`` included."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in paths}


def ninth_decile(lines: list[int]) -> int:
    """The size that nine of ten modules do not exceed."""
    ordered = sorted(lines)
    return ordered[min(len(ordered) - 1, (9 * len(ordered)) // 10)] if ordered else 0


def table() -> str:
    """One row a folder and one for all, then the five largest modules."""
    rows = [f"{'folder':<12}{'modules':>8}{'lines':>9}{'median':>8}{'p90':>6}{'largest':>9}"]
    everything: dict[str, int] = {}
    for folder in FOLDERS:
        counts = line_counts(folder)
        everything |= counts
        rows.append(_row(folder, list(counts.values())))
    rows.append(_row("all", list(everything.values())))
    rows.append("")
    largest = sorted(everything.items(), key=lambda item: -item[1])[:5]
    rows += [f"{count:>6}  {path}" for path, count in largest]
    return "\n".join(rows)


def _row(name: str, lines: list[int]) -> str:
    if not lines:
        return f"{name:<12}{0:>8}"
    size, total, middle = len(lines), sum(lines), round(median(lines))
    return f"{name:<12}{size:>8}{total:>9}{middle:>8}{ninth_decile(lines):>6}{max(lines):>9}"


if __name__ == "__main__":
    print(table())
