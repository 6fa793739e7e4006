"""Who has an id to himself, where several nodes share a database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "holds",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("subject"),
    )
    if op.get_context().dialect.name == "postgresql":
        # A crash of the server ends every hold, so nothing of them has to be logged.
        op.execute("ALTER TABLE holds SET UNLOGGED")
