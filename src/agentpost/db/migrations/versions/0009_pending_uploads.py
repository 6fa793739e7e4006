"""Finding what an account has announced to upload."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pending = sa.text("status = 'pending'")
    op.create_index(
        "ix_uploads_pending",
        "uploads",
        ["account_id", "size"],
        sqlite_where=pending,
        postgresql_where=pending,
    )
