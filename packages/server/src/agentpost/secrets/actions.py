"""The server's own secret: given by the operator, or made once and kept in the database."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from agentpost.db import meta
from agentpost.db.session import Database, Tx
from agentpost.secrets.encryption import key_id
from agentpost.webhooks import endpoint_rows

if TYPE_CHECKING:
    from agentpost.context import AppContext
    from agentpost.settings import Settings

NAME = "secret_key"
GENERATED = "generated"
"""Among the earlier secrets: the one that was made on the first start."""


async def server_secrets(db: Database, settings: Settings) -> tuple[list[bytes], list[bytes]]:
    """The secrets that sign links, cursors and upload forms, the same on every node: the one that
    signs, then the earlier ones. And those that decrypt: these, and the one that is kept in the
    database, if there is one. Whoever has the database has it anyway, and setting ``secret_key``
    must not make stored secrets unreadable.

    Raises `ValueError` when `GENERATED` is among the earlier ones and there is no such secret.
    """
    own_key = settings.secret_key.get_secret_value()
    fresh = secrets.token_hex(32)
    if own_key:
        kept = await db.read(lambda tx: meta.get(tx, NAME))
    else:
        kept = await db.write(lambda tx: meta.get_or_put(tx, NAME, fresh))
    before = settings.secret_keys_before.get_secret_value()
    earlier = filter(None, map(str.strip, before.split(",")))
    signing = [own_key or kept, *(kept if name == GENERATED else name for name in earlier)]
    if None in signing:
        raise ValueError(
            "AGENTPOST_SECRET_KEYS_BEFORE names the generated key, but this database never had"
            " one: remove the word"
        )
    keys = [secret.encode() for secret in (*signing, kept) if secret is not None]
    return keys[: len(signing)], keys


def required_key_ids(tx: Tx, current: str) -> list[str]:
    """The ids of the keys without which a database is not whole: the one in force, then others that
    encrypt secrets of webhook endpoints. No backup has the keys themselves: who reads one could
    decrypt and sign with them."""
    encrypting = {prefix.split(":")[1] for prefix in endpoint_rows.secret_prefixes(tx)}
    return [current, *sorted(encrypting - {current})]


async def to_keep(ctx: AppContext) -> list[str]:
    """The keys of `required_key_ids` that this server has, in its order."""
    _, keys = await server_secrets(ctx.db, ctx.settings)
    by_id = {key_id(key): key.decode() for key in keys}
    ids = await ctx.db.read(lambda tx: required_key_ids(tx, ctx.cipher.current))
    return [by_id[each] for each in ids if each in by_id]
