"""Messages that were sent to be queued: by how much longer than others they wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("queue_patience", sa.BigInteger(), nullable=True))
