"""How far the clock of a node is ahead of the database's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("nodes", sa.Column("clock_ahead", sa.BigInteger(), nullable=True))
