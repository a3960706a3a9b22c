"""Where a job's request stands in its trace, so that the job's own spans go on from there

Revision 0005, after 0004. Marked pre: safe while the old code still runs (its jobs have an empty one).
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("traceparent", sa.String(length=55), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("jobs", "traceparent")
