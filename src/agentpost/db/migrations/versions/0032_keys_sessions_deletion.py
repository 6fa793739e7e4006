"""From where a key may be used, the secret it had before, where a session comes from, and accounts
that are being deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("keys", sa.Column("networks", sa.Text(), nullable=True))
    op.add_column("keys", sa.Column("old_digest", sa.Text(), nullable=True))
    op.add_column("keys", sa.Column("old_hint", sa.Text(), nullable=True))
    op.add_column("keys", sa.Column("old_until", sa.BigInteger(), nullable=True))
    op.create_index("uq_keys_old_digest", "keys", ["old_digest"], unique=True)
    op.add_column("sessions", sa.Column("address", sa.Text(), nullable=True))
    op.add_column("accounts", sa.Column("deleted_at", sa.BigInteger(), nullable=True))
