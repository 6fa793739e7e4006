"""Who wrote a message in the web app."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("user_id", sa.Text(), nullable=True))
