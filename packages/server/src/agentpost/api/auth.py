"""Authenticate: the API key in the Authorization header (spec: Authentication)."""

import asyncio

from starlette.requests import Request

from agentpost.accounts import actions as accounts, network_rules
from agentpost.accounts.actions import KnownKey
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.domain.errors import ErrorCode, Refusal, key_not_valid, not_from_here
from agentpost.domain.times import SECOND
from agentpost.http.client_address import client_address
from agentpost.http.headers import headers
from agentpost.http.request_state import state_of

_CACHE_SECONDS = 1
_CACHE_KEYS_MAX = 10_000
_KEY_CHARACTERS_MAX = 200


class Keys:
    """Looks keys up by their SHA-256; an answer is remembered for a second at the most."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._known: dict[str, tuple[int, KnownKey]] = {}
        self._look_ups: dict[str, asyncio.Task[KnownKey]] = {}
        ctx.external_commit.add(self.forget)

    async def caller(self, request: Request) -> Caller:
        """The caller of a request. Reads no body. Raises ``unauthorized``, and ``forbidden`` when
        the key may not be used from where the request comes."""
        secret = _bearer(headers(request, b"authorization"))
        if secret is None:
            raise Refusal(ErrorCode.UNAUTHORIZED, "Send an API key: Authorization: Bearer <key>.")
        now = self._ctx.clock.now()
        until, key = self._known.get(secret, (0, None))
        if key is None or not 0 < until - now <= _CACHE_SECONDS * SECOND:  # clocks are set back
            key = await self._find(secret, now)
        if not accounts.is_live(key, now):
            raise key_not_valid()
        if key.networks:
            address = client_address(request, self._ctx.settings)
            if not network_rules.within(network_rules.address(address), key.networks):
                # Its account sees it in the request log.
                state_of(request.scope).caller = key.caller
                raise not_from_here(address)
        return key.caller

    def account_of(self, secret: str) -> str | None:
        """The account of a key that was looked up not long ago, whether or not it is live still;
        for what decides nothing but whose requests wait."""
        entry = self._known.get(secret)
        return entry[1].caller.account_id if entry else None

    def forget(self) -> None:
        """Keys may have changed."""
        self._known, self._look_ups = {}, {}

    async def _find(self, secret: str, now: int) -> KnownKey:
        """The key, by one look-up for all calls that come meanwhile: else each call of a busy
        server would make its own when the second is over."""
        look_ups = self._look_ups
        look_up = look_ups.get(secret)
        if look_up is None:
            look_up = look_ups[secret] = asyncio.create_task(self._look_up(secret, now))
            look_up.add_done_callback(lambda _: look_ups.pop(secret))
        return await asyncio.shield(look_up)

    async def _look_up(self, secret: str, now: int) -> KnownKey:
        cache = self._known  # another one by the time it is found, if keys may have changed
        key = await accounts.find_key(self._ctx, secret)
        if key is None:
            cache.pop(secret, None)
            raise key_not_valid()
        if len(cache) >= _CACHE_KEYS_MAX:
            cache.clear()
        cache[secret] = (now + _CACHE_SECONDS * SECOND, key)
        return key


def _bearer(headers: list[str]) -> str | None:
    """The one key; two headers count as none, since a proxy might choose either."""
    if len(headers) != 1:
        return None
    scheme, _, secret = headers[0].partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret or len(secret) > _KEY_CHARACTERS_MAX:
        return None
    return secret
