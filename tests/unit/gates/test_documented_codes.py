"""docs/jobs.md names every code with which jobs, batches and results refuse a request."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = ("service/jobs", "service/batches", "service/results", "service/pages.py", "service/strict_json.py")


def test_every_code_of_a_refusal_is_documented() -> None:
    files = [file for name in SOURCES for file in ((ROOT / name).rglob("*.py") if "." not in name else [ROOT / name])]
    raised = {code for file in files for code in re.findall(r'\bcode="([a-z-]+)"', file.read_text())}
    assert len(raised) > 15
    documented = set(re.findall(r"`([a-z-]+)`", (ROOT / "docs/jobs.md").read_text()))
    assert sorted(raised - documented) == []
