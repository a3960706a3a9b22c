"""Build options as an identity column of results and candidates

Revision 0003, after 0002. Marked pre: safe while the old code still runs (it writes rows without options, the default).
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("results", "candidates"):
        op.add_column(table, sa.Column("build_options", sa.String(length=200), server_default="", nullable=False))


def downgrade() -> None:
    for table in ("candidates", "results"):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.drop_column("build_options")
