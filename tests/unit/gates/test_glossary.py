"""The glossary's refused words do not occur in documents, pages and messages, and each word has one meaning."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines()
    if line.startswith("| **")
]
REFUSED = sorted({word for row in ROWS for word in re.findall(r"`([^`]+)`", row[2]) if not word.startswith("num_")})
FOLDERS = ("warpwright", "service", "tuning", "lowering", "solver")


def prose() -> Iterator[tuple[str, str]]:
    """Name and text of every document, page, docstring, comment-free message and help text of the product."""
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")):
        if path.name != "glossary.md" and not path.name.startswith("0178"):
            yield path.name, path.read_text("utf-8")
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            name = str(path.relative_to(ROOT))
            if path.suffix == ".html":
                yield name, path.read_text("utf-8")
            elif path.suffix == ".py":
                tree = ast.parse(path.read_text("utf-8"))
                texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
                yield name, "\n".join(text for text in texts if isinstance(text, str) and " " in text)


@cache
def texts() -> list[tuple[str, str]]:
    """All of it, read once by the process that runs these tests and by no other."""
    return list(prose())


@pytest.mark.parametrize("word", REFUSED)
def test_a_refused_word_is_used_nowhere(word: str) -> None:
    stem = re.escape(word[:-1] if word.endswith("y") else word).replace(r"\ ", r"\s+")
    ending = "(?:y|ies)" if word.endswith("y") else "s?"
    pattern = re.compile(rf"\b{stem}{ending}\b", 0 if word.isupper() else re.IGNORECASE)
    assert [name for name, text in texts() if pattern.search(text)] == []


def test_there_are_refused_words_and_texts_to_look_at() -> None:
    assert {"constraint family", "task engine"} <= set(REFUSED)
    assert {"README.md", "map.md"} <= {name for name, _ in texts()}
    assert sum(name.endswith(".html") for name, _ in texts()) > 20


def test_each_word_has_one_row_with_a_meaning_in_alphabetical_order() -> None:
    words = [re.findall(r"\*\*([^*]+)\*\*", row[0])[0] for row in ROWS]
    assert [word for word, count in Counter(words).items() if count > 1] == []
    assert words == sorted(words, key=lambda word: word.lower())
    assert [row[0] for row in ROWS if not row[1]] == []
