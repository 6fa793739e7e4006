"""Messages that are sent at given times."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=True),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("missed", sa.Text(), nullable=False),
        sa.Column("message_json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("missed_runs", sa.Integer(), nullable=False),
        sa.Column("last_planned_at", sa.BigInteger(), nullable=True),
        sa.Column("last_at", sa.BigInteger(), nullable=True),
        sa.Column("last_outcome", sa.Text(), nullable=True),
        sa.Column("last_message_id", sa.Text(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
    )
    op.create_index("ix_schedules_account", "schedules", ["account_id"])
    op.create_index("ix_schedules_key", "schedules", ["key_id", "id"])
    due = sa.text("next_at IS NOT NULL")
    op.create_index(
        "ix_schedules_due", "schedules", ["next_at"], sqlite_where=due, postgresql_where=due
    )
