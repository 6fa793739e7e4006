"""The request log as a plain table, and what it took up on each day.

SQLite keeps the rows of a table without row ids in its index, where one of over a kilobyte takes
a page of its own: four times the space.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "request_log_days",
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "day"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_request_log_days_day", "request_log_days", ["day"])
    if op.get_context().dialect.name != "sqlite":
        return
    op.drop_index("ix_requests_account", "requests")
    op.rename_table("requests", "requests_in_index")
    op.create_table(
        "requests",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.Text(), nullable=True),
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("ms", sa.Integer(), nullable=False),
        sa.Column("request_bytes", sa.BigInteger(), nullable=False),
        sa.Column("response_bytes", sa.BigInteger(), nullable=False),
        sa.Column("request_body", sa.Text(), nullable=True),
        sa.Column("response_body", sa.Text(), nullable=True),
        sa.Column("traceparent", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.execute("INSERT INTO requests SELECT * FROM requests_in_index ORDER BY id")
    op.drop_table("requests_in_index")
    op.create_index("ix_requests_account", "requests", ["account_id", "id"])
