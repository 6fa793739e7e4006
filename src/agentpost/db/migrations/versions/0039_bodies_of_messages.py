"""Lines of the request log are found by their message."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    condition = sa.text("message_id IS NOT NULL")
    op.create_index(
        "ix_requests_message",
        "requests",
        ["message_id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
