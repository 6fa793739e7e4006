"""Since when a job waits for code that makes its recorded calls, and which call differs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("diverged_at", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("divergence", sa.Text(), nullable=True))
