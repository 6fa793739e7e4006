"""What a message may use, and a key in a day; which of them a job waits for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("max_credits", sa.BigInteger(), nullable=True))
    op.add_column("keys", sa.Column("max_credits_per_day", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("ceiling", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("waits_until", sa.BigInteger(), nullable=True))
    op.add_column("ledger", sa.Column("key_id", sa.Text(), nullable=True))
    condition = sa.text("kind = 'charge' AND key_id IS NOT NULL")
    op.create_index(
        "ix_ledger_key",
        "ledger",
        ["key_id", "id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
