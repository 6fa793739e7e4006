"""The server's own secret: given by the operator, or made once and kept in the database."""

from __future__ import annotations

import secrets

from agentpost.db import meta
from agentpost.db.session import Database

NAME = "secret_key"


async def server_secret(db: Database, given: str) -> bytes:
    """The key that signs links and cursors; the same on every node."""
    if given:
        return given.encode()
    fresh = secrets.token_hex(32)
    return (await db.write(lambda tx: meta.get_or_put(tx, NAME, fresh))).encode()
