"""Events that are kept for readers, the conversation in a message, and indexes for lists."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "event_readers",
        sa.Column("account_id", sa.Text(), primary_key=True),
        sa.Column("kept_until", sa.BigInteger(), nullable=False),
        sa.Column("last_n", sa.Integer(), nullable=False),
    )
    op.create_table(
        "event_numbers",
        sa.Column("event_id", sa.Text(), primary_key=True),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=True),
    )
    op.create_index("ix_event_numbers_account", "event_numbers", ["account_id", "n"])
    unread = sa.text("n IS NULL")
    op.create_index(
        "ix_event_numbers_new",
        "event_numbers",
        ["account_id", "event_id"],
        sqlite_where=unread,
        postgresql_where=unread,
    )
    op.add_column("messages", sa.Column("conversation", sa.Text(), nullable=True))
    op.create_index("ix_messages_key", "messages", ["key_id", "id"])
    op.create_index("ix_messages_of_conversation", "messages", ["conversation_id", "id"])
