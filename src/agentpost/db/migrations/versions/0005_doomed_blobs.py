"""Which bytes are to go unless a commit records them; finding sessions that are over and the
versions of a file."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "doomed_blobs",
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("blob"),
    )
    op.create_index("ix_doomed_blobs_due", "doomed_blobs", ["due_at"])
    op.create_index("ix_login_tokens_expires", "login_tokens", ["expires_at"])
    op.create_index("ix_sessions_expires", "sessions", ["expires_at"])
    op.drop_index("ix_files_work", table_name="files")
    op.create_index("ix_files_work", "files", ["work_id", "path", "replaced"])
