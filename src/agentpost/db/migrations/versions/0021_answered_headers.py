"""Attempts of deliveries: the headers of the receiver's answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("headers", sa.Text(), nullable=True))
