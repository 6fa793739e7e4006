"""Indexes for what was found by reading all that had gathered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _partial("ix_ledger_job", "ledger", ["job_id"], "job_id IS NOT NULL")
    op.drop_index("ix_jobs_conversation", "jobs")
    _partial("ix_jobs_running", "jobs", ["conversation_id", "id"], "state = 'running'")
    _partial(
        "ix_jobs_settled",
        "jobs",
        ["conversation_id", "settled_at"],
        "state IN ('completed', 'failed')",
    )
    _partial("ix_messages_busy", "messages", ["busy_by"], "turn_state = 'waiting'")
    _partial("ix_messages_expiring", "messages", ["expires_at", "id"], "jobs > 0")
    _partial("ix_uploads_message", "uploads", ["message_id"], "message_id IS NOT NULL")


def _partial(name: str, table: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
