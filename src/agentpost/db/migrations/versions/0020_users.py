"""People who sign in: users with a role, one for each account that there is; whose a session is."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

DEFAULT_EMAIL = "owner@localhost"
"""The account of the first start, whose user has operated the server so far."""

INSERT = (
    "INSERT INTO users (id, account_id, email, role, created_at)"
    " VALUES (:id, :account_id, :email, :role, :created_at)"
)


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("oidc_subject", sa.Text(), nullable=True),
        sa.Column("last_login_at", sa.BigInteger(), nullable=True),
        sa.UniqueConstraint("email", name="uq_users_email"),
    )
    op.create_index("ix_users_account", "users", ["account_id", "id"])
    op.create_index("ix_users_subject", "users", ["oidc_subject"], unique=True)
    op.create_table(
        "user_mails",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("next_attempt_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
    )
    for table in ("sessions", "login_tokens"):
        op.add_column(table, sa.Column("user_id", sa.Text(), nullable=True))
    op.add_column("login_tokens", sa.Column("purpose", sa.Text(), nullable=True))
    op.create_index("ix_sessions_user", "sessions", ["user_id", "created_at"])
    _fill()


def _fill() -> None:
    """The account's own user has the account's id with another prefix, and its address. Addresses
    that differ by case alone stay as they are, since each may belong to one user only."""
    connection = op.get_bind()
    accounts = connection.execute(sa.text("SELECT id, email, created_at FROM accounts")).all()
    lower = Counter(email.lower() for _, email, _ in accounts)
    rows = [
        {
            "id": "usr_" + account_id.removeprefix("acc_"),
            "account_id": account_id,
            "email": email.lower() if lower[email.lower()] == 1 else email,
            "role": "operator" if email == DEFAULT_EMAIL else "owner",
            "created_at": created_at,
        }
        for account_id, email, created_at in accounts
    ]
    if rows:
        connection.execute(sa.text(INSERT), rows)
    op.execute("UPDATE sessions SET user_id = 'usr_' || SUBSTR(account_id, 5)")
    op.execute("UPDATE login_tokens SET user_id = 'usr_' || SUBSTR(account_id, 5)")
