"""Webhook endpoints of an account."""

from __future__ import annotations

from agentpost.db.session import Tx


def exists(tx: Tx, endpoint_id: str, account_id: str) -> bool:
    """Whether the account has that endpoint, enabled or not."""
    sql = "SELECT 1 FROM endpoints WHERE id = ? AND account_id = ?"
    return tx.one(sql, (endpoint_id, account_id)) is not None
