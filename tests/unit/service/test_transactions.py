"""One transaction a request or task: nobody but the database's own module begins, commits or rolls back."""

import ast
from pathlib import Path

SERVICE = Path(__file__).parents[3] / "service"
EDGE = {SERVICE / "db" / "database.py", SERVICE / "db" / "migrate.py"}


def test_no_commit_outside_the_edge() -> None:
    found = []
    for path in SERVICE.rglob("*.py"):
        if path in EDGE:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("commit", "rollback", "begin_nested"):
                found.append(f"{path.relative_to(SERVICE)}:{node.lineno}")
    assert found == []


def test_read_sessions_cannot_write() -> None:
    from warpwright.service.db import ReadSession

    public = {name for name in vars(ReadSession) if not name.startswith("_")}
    assert public == {"scalar", "scalars", "rows", "get"}
