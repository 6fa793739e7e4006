"""How many nodes died while they ran a turn, and when it was begun again under suspicion."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "messages", sa.Column("turn_deaths", sa.Integer(), nullable=False, server_default="0")
    )
    op.add_column("messages", sa.Column("turn_retried_at", sa.BigInteger(), nullable=True))
