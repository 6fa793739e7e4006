"""What a key may do; NULL, as in the keys there are: everything."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", sa.Column("scopes", sa.Text(), nullable=True))
