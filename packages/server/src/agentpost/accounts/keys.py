"""Changing a key that there is: a new secret, and from where it may be used (design: Keys and ids).

A key keeps its id through a rotation. What belongs to it (messages, conversations, idempotency
keys, schedules, its limits and the credits it used today) is the same for both secrets.
"""

from collections.abc import Sequence
from typing import Final

from agentpost.accounts import network_rules, rows as account_rows
from agentpost.accounts.actions import NewKey, digest, generate_secret, is_live
from agentpost.accounts.network_rules import Network
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import not_found
from agentpost.domain.times import DAY, SECOND, iso, seconds
from agentpost.record.records import KeyRecord
from agentpost.transactions import write_transaction

OVERLAP_SECONDS: Final = DAY // SECOND
OVERLAP_SECONDS_MAX: Final = 90 * DAY // SECOND


async def rotate(
    ctx: AppContext,
    key_id: str,
    overlap_seconds: float = OVERLAP_SECONDS,
    account_id: str | None = None,
) -> NewKey:
    """A new secret for a live key; the one so far stays good for ``overlap_seconds``.

    With 0, every earlier secret ends now, within a second everywhere, and their held calls with it.

    Raises ``not_found``, also for the key of another account than the one given; `ValueError` for
    an overlap that cannot be, and while the secret before this one is still good, unless the
    overlap is 0: a program that still sends that one would be cut off unseen.
    """
    if not 0 <= overlap_seconds <= OVERLAP_SECONDS_MAX:
        raise ValueError(f"the overlap is between 0 and {OVERLAP_SECONDS_MAX // 86_400} days")
    secret = generate_secret(ctx.settings.key_prefix)

    def fn(tx: Tx) -> NewKey:
        now = ctx.clock.now()
        key = _live(tx, key_id, account_id, now)
        if overlap_seconds and key.old_until is not None and key.old_until > now:
            raise ValueError(
                f"the secret before, …{key.old_hint}, is good until {iso(key.old_until)}: rotate"
                " again after that, or with an overlap of 0, which ends all earlier secrets now"
            )
        key.old_digest = key.digest if overlap_seconds else None
        key.old_hint = key.hint if overlap_seconds else None
        key.old_until = now + seconds(overlap_seconds) if overlap_seconds else None
        key.digest, key.hint = digest(secret), secret[-4:]
        account_rows.save_secrets(tx, key)
        return NewKey(key, secret)

    return await ctx.db.write(fn)


@write_transaction
def allow(
    tx: Tx, ctx: AppContext, key_id: str, allowed: Sequence[Network], account_id: str | None = None
) -> KeyRecord:
    """From where a live key may be used from now on, within a second; no network: from everywhere.
    Raises ``not_found``, also for the key of another account than the one given."""
    key = _live(tx, key_id, account_id, ctx.clock.now())
    key.networks = network_rules.to_stored(allowed)
    account_rows.save_networks(tx, key_id, key.networks)
    return key


def _live(tx: Tx, key_id: str, account_id: str | None, now: int) -> KeyRecord:
    key = account_rows.lock_key(tx, key_id)
    if key is None or not is_live(key, now) or account_id not in (None, key.account_id):
        raise not_found("live key")
    return key
