"""Who calls: the API key in the Authorization header (spec: Authentication)."""

from __future__ import annotations

from starlette.requests import Request

from agentpost.db.accounts import KeyRecord
from agentpost.domain.errors import Refusal
from agentpost.domain.times import SECOND
from agentpost.services import accounts
from agentpost.services.context import House
from agentpost.services.messages import Caller

CACHE_SECONDS = 1
CACHE_KEYS_MAX = 10_000
KEY_CHARACTERS_MAX = 200


class Keys:
    """Looks keys up by their SHA-256; an answer is remembered for a second at the most."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._known: dict[str, tuple[int, KeyRecord, Caller]] = {}

    async def caller(self, request: Request) -> Caller:
        """The caller of a request; raises ``unauthorized``. Reads no body."""
        secret = _bearer(request.headers.get("authorization"))
        if secret is None:
            raise Refusal("unauthorized", "Send an API key: Authorization: Bearer <key>.")
        now = self._house.clock.now()
        known = self._known.get(secret)
        if known is None or known[0] <= now:
            known = await self._look_up(secret, now)
        _, key, caller = known
        if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
            raise Refusal("unauthorized", "This API key is revoked or has expired.")
        return caller

    def forget(self) -> None:
        """Another process has committed: keys may have changed."""
        self._known = {}

    async def _look_up(self, secret: str, now: int) -> tuple[int, KeyRecord, Caller]:
        key = await accounts.find_key(self._house, secret)
        if key is None:
            raise Refusal("unauthorized", "This API key is not known.")
        if len(self._known) >= CACHE_KEYS_MAX:
            self._known = {}
        caller = Caller(key.id, key.name, key.account_id)
        known = (now + CACHE_SECONDS * SECOND, key, caller)
        self._known[secret] = known
        return known


def _bearer(header: str | None) -> str | None:
    scheme, _, secret = (header or "").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret or len(secret) > KEY_CHARACTERS_MAX:
        return None
    return secret
