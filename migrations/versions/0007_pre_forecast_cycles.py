"""Forecasts in cycles, for devices whose cost model has no clock

Revision 0007, after 0006. Marked pre: safe while the old code still runs (its candidates have none).
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("candidates", sa.Column("forecast_cycles", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("candidates", "forecast_cycles")
