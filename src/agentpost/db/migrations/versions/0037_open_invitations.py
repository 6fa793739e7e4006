"""Who invited a user, invitations that were not accepted, and links for who came by the identity
provider."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("invited_by", sa.Text(), nullable=True))
    op.add_column("users", sa.Column("invited_email", sa.Text(), nullable=True))
    op.add_column("login_tokens", sa.Column("oidc_subject", sa.Text(), nullable=True))
    op.create_index("ix_users_invited", "users", ["invited_email"])
