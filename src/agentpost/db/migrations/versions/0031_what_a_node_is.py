"""What operators see of a node, which nodes of before leave open; and how old the code may be that
uses this schema (`db.migrate`)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("beat_at", "draining_at"):
        op.add_column("nodes", sa.Column(name, sa.BigInteger(), nullable=True))
    for name in ("host", "role", "version"):
        op.add_column("nodes", sa.Column(name, sa.Text(), nullable=True))
    for name in ("pid", "held_calls"):
        op.add_column("nodes", sa.Column(name, sa.Integer(), nullable=True))
    op.create_table(
        "schema_support", sa.Column("serves_from", sa.Text(), primary_key=True, nullable=False)
    )
