"""Results, batches, tokens, workers

Revision 0002, after 0001. Marked pre: safe while the old code still runs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cancelled_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
    )
    with op.batch_alter_table("batches", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_batches_digest"), ["digest"], unique=False)
        batch_op.create_index(batch_op.f("ix_batches_owner"), ["owner"], unique=False)

    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=120), nullable=False),
        sa.Column("capabilities", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("devices", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("versions", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("draining", sa.Boolean(), nullable=False),
        sa.Column("healthy", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_error", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("tasks_done", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_workers_heartbeat_at"), ["heartbeat_at"], unique=False)

    op.create_table(
        "batch_items",
        sa.Column("batch_id", sa.String(length=40), nullable=False),
        sa.Column("line", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.Column("problem", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batches.id"], name=op.f("fk_batch_items_batch_id_batches"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_batch_items_job_id_jobs"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("batch_id", "line", name=op.f("pk_batch_items")),
    )
    with op.batch_alter_table("batch_items", schema=None) as batch_op:
        batch_op.create_index("ix_batch_items_job", ["job_id"], unique=False)

    op.create_table(
        "results",
        sa.Column("key", sa.String(length=71), nullable=False),
        sa.Column("ir", sa.String(length=100), nullable=False),
        sa.Column("profile", sa.String(length=71), nullable=False),
        sa.Column("toolchain", sa.String(length=200), nullable=False),
        sa.Column("constraint_set", sa.String(length=100), nullable=False),
        sa.Column("protocol", sa.String(length=100), nullable=False),
        sa.Column("verification", sa.String(length=100), nullable=False),
        sa.Column("pins", sa.String(length=71), nullable=False),
        sa.Column("pins_document", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("candidate", sa.String(length=40), nullable=False),
        sa.Column("measured", sa.Boolean(), nullable=False),
        sa.Column("time_ns", sa.Double(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_results_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_results")),
    )
    with op.batch_alter_table("results", schema=None) as batch_op:
        batch_op.create_index("ix_results_ir_profile", ["ir", "profile"], unique=False)
        batch_op.create_index(batch_op.f("ix_results_job_id"), ["job_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_results_profile"), ["profile"], unique=False)
        batch_op.create_index(batch_op.f("ix_results_toolchain"), ["toolchain"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("results", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_results_toolchain"))
        batch_op.drop_index(batch_op.f("ix_results_profile"))
        batch_op.drop_index(batch_op.f("ix_results_job_id"))
        batch_op.drop_index("ix_results_ir_profile")

    op.drop_table("results")
    with op.batch_alter_table("batch_items", schema=None) as batch_op:
        batch_op.drop_index("ix_batch_items_job")

    op.drop_table("batch_items")
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_workers_heartbeat_at"))

    op.drop_table("workers")
    op.drop_table("tokens")
    with op.batch_alter_table("batches", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_batches_owner"))
        batch_op.drop_index(batch_op.f("ix_batches_digest"))

    op.drop_table("batches")
