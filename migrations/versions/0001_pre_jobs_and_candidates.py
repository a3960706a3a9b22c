"""Kernels, profiles, jobs, candidates, artifacts

Revision 0001, after nothing. Marked pre: safe while the old code still runs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "artifacts",
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.Column("media_type", sa.String(length=100), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("quarantined_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_artifacts")),
    )
    with op.batch_alter_table("artifacts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_artifacts_last_used_at"), ["last_used_at"], unique=False)

    op.create_table(
        "kernels",
        sa.Column("ir_hash", sa.String(length=100), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("ir_hash", name=op.f("pk_kernels")),
    )
    with op.batch_alter_table("kernels", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_kernels_name"), ["name"], unique=False)

    op.create_table(
        "profiles",
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("family", sa.String(length=20), nullable=False),
        sa.Column("arch", sa.String(length=40), nullable=False),
        sa.Column("document", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("builtin", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_profiles")),
    )
    with op.batch_alter_table("profiles", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_profiles_name"), ["name"], unique=False)

    op.create_table(
        "shares",
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("served", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", name=op.f("pk_shares")),
    )
    op.create_table(
        "work",
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_work")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("work_digest", sa.String(length=71), nullable=False),
        sa.Column("profile_digest", sa.String(length=71), nullable=False),
        sa.Column("request", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("trace_id", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.String(length=120), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("event_count", sa.Integer(), nullable=False),
        sa.Column("candidate_count", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=True),
        sa.Column("ending", sa.String(length=20), nullable=True),
        sa.Column("best", sa.String(length=40), nullable=True),
        sa.Column("note", sa.String(length=200), nullable=False),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("stopped_by", sa.String(length=40), nullable=False),
        sa.Column("error", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("summary", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["profile_digest"], ["profiles.digest"], name=op.f("fk_jobs_profile_digest_profiles")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_jobs_ended_at"), ["ended_at"], unique=False)
        batch_op.create_index("ix_jobs_lease", ["state", "lease_expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_jobs_name"), ["name"], unique=False)
        batch_op.create_index("ix_jobs_owner_state", ["owner", "state"], unique=False)
        batch_op.create_index(batch_op.f("ix_jobs_profile_digest"), ["profile_digest"], unique=False)
        batch_op.create_index("ix_jobs_state_priority_id", ["state", "priority", "id"], unique=False)
        batch_op.create_index(batch_op.f("ix_jobs_work_digest"), ["work_digest"], unique=False)

    op.create_table(
        "kernel_texts",
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.Column("ir_hash", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["ir_hash"], ["kernels.ir_hash"], name=op.f("fk_kernel_texts_ir_hash_kernels")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_kernel_texts")),
    )
    with op.batch_alter_table("kernel_texts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_kernel_texts_ir_hash"), ["ir_hash"], unique=False)

    op.create_table(
        "candidates",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("variant", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("forecast_ns", sa.Double(), nullable=True),
        sa.Column("measured_ns", sa.Double(), nullable=True),
        sa.Column("schedule", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("certificate", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("structure", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("measurement", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("report", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("not_honoured", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("failure", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("seconds", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("reused_from", sa.String(length=40), nullable=True),
        sa.Column("ir_hash", sa.String(length=100), nullable=False),
        sa.Column("profile", sa.String(length=71), nullable=False),
        sa.Column("toolchain", sa.String(length=200), nullable=False),
        sa.Column("constraint_set", sa.String(length=100), nullable=False),
        sa.Column("protocol", sa.String(length=100), nullable=False),
        sa.Column("verification", sa.String(length=100), nullable=False),
        sa.Column("pins", sa.String(length=71), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_candidates_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "key", name=op.f("pk_candidates")),
    )
    with op.batch_alter_table("candidates", schema=None) as batch_op:
        batch_op.create_index("ix_candidates_identity", ["ir_hash", "profile"], unique=False)
        batch_op.create_index("ix_candidates_job_number", ["job_id", "number"], unique=True)
        batch_op.create_index("ix_candidates_key", ["key", "toolchain"], unique=False)

    op.create_table(
        "idempotency_keys",
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("body_digest", sa.String(length=71), nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_idempotency_keys_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("owner", "key", name=op.f("pk_idempotency_keys")),
    )
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotency_keys_job_id"), ["job_id"], unique=False)

    op.create_table(
        "job_attempts",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("owner", sa.String(length=120), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ending", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_attempts_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "attempt", name=op.f("pk_job_attempts")),
    )
    op.create_table(
        "job_events",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_events_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_job_events")),
    )
    op.create_table(
        "job_interests",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_interests_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "owner", name=op.f("pk_job_interests")),
    )
    op.create_table(
        "job_variants",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("params", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("text_digest", sa.String(length=71), nullable=False),
        sa.Column("ir_hash", sa.String(length=100), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_variants_job_id_jobs"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["text_digest"], ["artifacts.digest"], name=op.f("fk_job_variants_text_digest_artifacts")
        ),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_job_variants")),
    )
    with op.batch_alter_table("job_variants", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_job_variants_ir_hash"), ["ir_hash"], unique=False)
        batch_op.create_index(batch_op.f("ix_job_variants_text_digest"), ["text_digest"], unique=False)

    op.create_table(
        "candidate_artifacts",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("digest", sa.String(length=71), nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["artifacts.digest"], name=op.f("fk_candidate_artifacts_digest_artifacts")),
        sa.ForeignKeyConstraint(
            ["job_id", "key"],
            ["candidates.job_id", "candidates.key"],
            name=op.f("fk_candidate_artifacts_job_id_key_candidates"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", "key", "name", name=op.f("pk_candidate_artifacts")),
    )
    with op.batch_alter_table("candidate_artifacts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_candidate_artifacts_digest"), ["digest"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("candidate_artifacts", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_candidate_artifacts_digest"))

    op.drop_table("candidate_artifacts")
    with op.batch_alter_table("job_variants", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_job_variants_text_digest"))
        batch_op.drop_index(batch_op.f("ix_job_variants_ir_hash"))

    op.drop_table("job_variants")
    op.drop_table("job_interests")
    op.drop_table("job_events")
    op.drop_table("job_attempts")
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotency_keys_job_id"))

    op.drop_table("idempotency_keys")
    with op.batch_alter_table("candidates", schema=None) as batch_op:
        batch_op.drop_index("ix_candidates_key")
        batch_op.drop_index("ix_candidates_job_number")
        batch_op.drop_index("ix_candidates_identity")

    op.drop_table("candidates")
    with op.batch_alter_table("kernel_texts", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_kernel_texts_ir_hash"))

    op.drop_table("kernel_texts")
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_jobs_work_digest"))
        batch_op.drop_index("ix_jobs_state_priority_id")
        batch_op.drop_index(batch_op.f("ix_jobs_profile_digest"))
        batch_op.drop_index("ix_jobs_owner_state")
        batch_op.drop_index(batch_op.f("ix_jobs_name"))
        batch_op.drop_index("ix_jobs_lease")
        batch_op.drop_index(batch_op.f("ix_jobs_ended_at"))

    op.drop_table("jobs")
    op.drop_table("work")
    op.drop_table("shares")
    with op.batch_alter_table("profiles", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_profiles_name"))

    op.drop_table("profiles")
    with op.batch_alter_table("kernels", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_kernels_name"))

    op.drop_table("kernels")
    with op.batch_alter_table("artifacts", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_artifacts_last_used_at"))

    op.drop_table("artifacts")
