"""When a browser session was last used and in which browser; an account's sessions and messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "sessions", sa.Column("last_used_at", sa.BigInteger(), nullable=False, server_default="0")
    )
    op.add_column("sessions", sa.Column("browser", sa.Text(), nullable=True))
    op.execute("UPDATE sessions SET last_used_at = created_at")
    op.create_index("ix_sessions_account", "sessions", ["account_id", "created_at"])
    op.create_index("ix_login_tokens_account", "login_tokens", ["account_id"])
    op.create_index("ix_messages_account", "messages", ["account_id", "id"])
