"""What operators see of a node, and whether it drains. Nodes of before leave it open."""

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
