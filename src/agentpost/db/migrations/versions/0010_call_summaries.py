"""What a recorded call was, for people: to tell how a re-run's call differs from it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("calls", sa.Column("summary", sa.Text(), nullable=True))
