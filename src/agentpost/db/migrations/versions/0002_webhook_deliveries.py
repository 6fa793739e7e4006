"""Deliveries are claimed by endpoint, test events tell about no message, mail waits in a table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

PENDING = sa.text("status = 'pending'")
ENABLED = sa.text("disabled_at IS NULL")
UNSENT = sa.text("sent_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "mails",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.Column("next_attempt_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_mails_account_id", "mails", ["account_id"])
    _partial("ix_mails_due", "mails", ["next_attempt_at"], UNSENT)
    with op.batch_alter_table("events") as events:
        events.alter_column("message_id", existing_type=sa.Text(), nullable=True)
    op.add_column("deliveries", sa.Column("claimed_until", sa.BigInteger(), nullable=True))
    op.drop_index("ix_deliveries_due", "deliveries")
    _partial("ix_deliveries_due", "deliveries", ["endpoint_id", "next_attempt_at"], PENDING)
    _partial("ix_endpoints_failing", "endpoints", ["failing_since"], ENABLED)


def _partial(name: str, table: str, columns: list[str], where: sa.TextClause) -> None:
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
