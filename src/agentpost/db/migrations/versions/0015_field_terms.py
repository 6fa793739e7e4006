"""Columns and tables get the names that the code and the documentation use."""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

COLUMNS = (
    ("messages", "busy_by", "turn_wait_deadline"),
    ("messages", "sync_by", "reply_deadline"),
    ("jobs", "calls_taken", "calls_at_takeover"),
    ("jobs", "recoveries", "takeovers"),
    ("jobs", "recovers", "recover_requests"),
    ("uploads", "takes", "copies"),
)
TABLES = (("doomed_blobs", "pending_deletions"), ("holds", "reader_locks"))


def upgrade() -> None:
    for table, before, after in COLUMNS:
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {before} TO {after}")
    for before, after in TABLES:
        op.execute(f"ALTER TABLE {before} RENAME TO {after}")
    op.drop_index("ix_doomed_blobs_due", "pending_deletions")
    op.create_index("ix_pending_deletions_due", "pending_deletions", ["due_at"])
