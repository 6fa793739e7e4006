"""The secret keys of an installation are no part of its backups: who reads one could decrypt and
sign with them. A backup names those it needs, a restore asks for them (docs/recipes/backups.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentpost.db import endpoints
from agentpost.services import secrets
from agentpost.services.encryption import key_id

if TYPE_CHECKING:
    from agentpost.db.session import Tx
    from agentpost.services.context import AppContext
    from agentpost.settings import Settings


def needed(tx: Tx, current: str) -> list[str]:
    """The ids of the keys that a database needs: the one in force, then others that encrypt secrets
    of webhook endpoints."""
    encrypting = {prefix.split(":")[1] for prefix in endpoints.secret_prefixes(tx)}
    return [current, *sorted(encrypting - {current})]


async def to_keep(ctx: AppContext) -> list[str]:
    """The keys of `needed` that this server has, in its order."""
    settings = ctx.settings
    known = await secrets.server_secrets(
        ctx.db,
        settings.secret_key.get_secret_value(),
        settings.secret_keys_before.get_secret_value(),
    )
    known += await secrets.generated_secret(ctx.db)
    by_id = {key_id(key): key.decode() for key in known}
    ids = await ctx.db.read(lambda tx: needed(tx, ctx.cipher.current))
    return [by_id[each] for each in ids if each in by_id]


def missing(settings: Settings, ids: Sequence[str], given: Sequence[str]) -> list[str]:
    """Which of the keys neither the settings have nor was given."""
    have = {*_of_settings(settings), *(key_id(key.encode()) for key in given)}
    return [each for each in ids if each not in have]


def to_store(
    settings: Settings, ids: Sequence[str], given: Sequence[str], *, without: bool
) -> str | None:
    """The key that a restored database is to keep, None where the settings have all.

    ``without``: do without those that are missing. Raises `ValueError` when some are and it is not
    given, and for more than one: a database keeps one.
    """
    absent = missing(settings, ids, given)
    if absent and not without:
        other = " The key that was given is another one." if given else ""
        raise ValueError(
            f"this backup does not hold its secret key {', '.join(absent)}.{other} Give the key"
            " with --secret-key-file (`agentpost db secret-key` prints it where the server runs),"
            " or set AGENTPOST_SECRET_KEY. When it is lost: --without-secret-key; then links and"
            " cursors end, and the secrets of webhook endpoints have to be rotated"
        )
    offered = {key_id(key.encode()): key for key in given}
    wanted = [each for each in ids if each in offered and each not in _of_settings(settings)]
    if len(wanted) > 1:
        raise ValueError(
            f"this backup needs {len(wanted)} secret keys, and a database keeps one: set"
            f" AGENTPOST_SECRET_KEY to the key {wanted[0]}, the first in the file"
        )
    return offered[wanted[0]] if wanted else None


def _of_settings(settings: Settings) -> set[str]:
    before = settings.secret_keys_before.get_secret_value().split(",")
    keys = [settings.secret_key.get_secret_value(), *(part.strip() for part in before)]
    return {key_id(key.encode()) for key in keys if key and key != secrets.GENERATED}
