"""Other sizes of a job's variants, at which winners are checked

Revision 0004, after 0003. Marked pre: safe while the old code still runs (its jobs have no sizes).
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "job_sizes",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("variant", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("text_digest", sa.String(length=71), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_sizes_job_id_jobs"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["text_digest"], ["artifacts.digest"], name=op.f("fk_job_sizes_text_digest_artifacts")),
        sa.PrimaryKeyConstraint("job_id", "variant", "number", name=op.f("pk_job_sizes")),
    )
    with op.batch_alter_table("job_sizes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_job_sizes_text_digest"), ["text_digest"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("job_sizes", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_job_sizes_text_digest"))
    op.drop_table("job_sizes")
