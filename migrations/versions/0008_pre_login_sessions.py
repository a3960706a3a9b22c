"""Tokens may expire, and a browser keeps the secret of a session, not the token

Revision 0008, after 0007. Marked pre: safe while the old code still runs (it knows no sessions, and its cookies ask for a login).
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tokens", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "login_sessions",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("token_id", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["token_id"], ["tokens.id"], name=op.f("fk_login_sessions_token_id_tokens"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_login_sessions")),
    )
    op.create_index(op.f("ix_login_sessions_token_id"), "login_sessions", ["token_id"])


def downgrade() -> None:
    op.drop_table("login_sessions")
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.drop_column("expires_at")
