"""Attempts of deliveries: by what the body that was sent can be made again, and proven the same."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("body_sha256", sa.Text(), nullable=True))
    op.add_column("attempts", sa.Column("links_until", sa.BigInteger(), nullable=True))
