"""The blocking client, derived from the client for asyncio programs: ``make client`` writes it, the test beside this holds it."""

import re
import subprocess
import sys
from pathlib import Path

__all__ = ["SOURCE", "TARGET", "derived"]

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "warpwright" / "client" / "asynchronous.py"
TARGET = SOURCE.with_name("synchronous.py")

SENTENCES = {
    "The client for asyncio programs. ``synchronous.py`` is derived from this module: run ``make client`` after a change.": (
        "The blocking client, derived from ``asynchronous.py``: change that one, then run ``make client``."
    ),
    "or use it as an asynchronous context manager.": "or use it as a context manager. Safe to use from several threads.",
    "import asyncio\n": "",
    "asyncio.sleep": "time.sleep",
}
WORDS = {
    "AsyncClient": "Client",
    "AsyncIterator": "Iterator",
    "AsyncBaseTransport": "BaseTransport",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aread": "read",
    "aiter_lines": "iter_lines",
}


def derived(source: str) -> str:
    """The blocking form of the asynchronous client's text, formatted.

    Raises:
        ValueError: the text lacks a sentence that is to be replaced, or something asynchronous would be left.
    """
    for old, new in SENTENCES.items():
        if old not in source:
            raise ValueError(f"the client for asyncio programs no longer has {old!r}")
        source = source.replace(old, new)
    source = re.sub(r"\b(async|await) ", "", source)
    source = re.sub(r"\b\w+\b", lambda found: WORDS.get(found[0], found[0]), source)
    left = {
        word for word in re.findall(r"\w+", source) if re.match(r"async|await|__a(enter|exit|iter|next)", word, re.I)
    }
    if left := left - {"asynchronous"}:
        raise ValueError(f"no blocking form is known of {', '.join(sorted(left))}")
    for command in (("check", "--fix", "--quiet", "--unsafe-fixes"), ("format", "--quiet")):
        call = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET), "-"]
        source = subprocess.run(call, input=source, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return source


if __name__ == "__main__":
    TARGET.write_text(derived(SOURCE.read_text("utf-8")), "utf-8")
