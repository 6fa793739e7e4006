"""The request log packs its bodies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("requests", sa.Column("message_id", sa.Text(), nullable=True))
    op.add_column("requests", sa.Column("bodies", sa.LargeBinary(), nullable=True))
