"""Stored results of the compiler's own choices that the verifier refuses are removed: they were crowned before it had a say

Revision 0006, after 0005. Marked pre: safe while the old code still runs (a lookup finds nothing, and the kernel is tuned).
"""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

RESULTS = sa.table("results", sa.column("key"), sa.column("job_id"), sa.column("candidate"))
CANDIDATES = sa.table(
    "candidates", sa.column("job_id"), sa.column("key"), sa.column("kind"), sa.column("report", sa.JSON)
)


def upgrade() -> None:
    connection = op.get_bind()
    same = (CANDIDATES.c.job_id == RESULTS.c.job_id) & (CANDIDATES.c.key == RESULTS.c.candidate)
    chosen = sa.select(RESULTS.c.key, CANDIDATES.c.report).join(CANDIDATES, same)
    rows = connection.execute(chosen.where(CANDIDATES.c.kind != "scheduled")).all()
    for key in [key for key, report in rows if _refused(report)]:
        connection.execute(sa.delete(RESULTS).where(RESULTS.c.key == key))


def downgrade() -> None:
    """What was removed is not known any more."""


def _refused(report: Any) -> bool:
    document = json.loads(report) if isinstance(report, str) else report
    verdict = (document or {}).get("verifier") or {}
    launched = (document.get("launch") or {}).get("block_threads") if document else None
    return bool(verdict.get("violations")) and launched in (None, verdict.get("threads"))
