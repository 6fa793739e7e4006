"""What complete found out about an upload, and what is left of it to clean up."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("uploads", sa.Column("takes", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("uploads", sa.Column("swept", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("uploads", sa.Column("kind", sa.Text(), nullable=True))
    op.add_column("uploads", sa.Column("revision", sa.Text(), nullable=True))
    op.add_column("uploads", sa.Column("sniffed_type", sa.Text(), nullable=True))
    op.create_index(
        "ix_uploads_due",
        "uploads",
        ["keep_by"],
        unique=False,
        sqlite_where=sa.text("swept = 0"),
        postgresql_where=sa.text("swept = 0"),
    )
