"""Each attempt of a webhook delivery has a row; a delivery counts all that were made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "attempts",
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("endpoint_id", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("response", sa.Text(), nullable=False),
        sa.Column("ms", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("event_id", "endpoint_id", "n"),
        sqlite_with_rowid=False,
    )
    op.add_column(
        "deliveries",
        sa.Column("attempts_made", sa.Integer(), nullable=False, server_default="0"),
    )
