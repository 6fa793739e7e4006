"""The secrets of webhook endpoints as they are stored (design: Secrets at rest)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import structlog

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.secrets.encryption import SecretUnreadable
from agentpost.transactions import read_transaction, write_transaction
from agentpost.webhooks import endpoint_rows
from agentpost.webhooks.records import EndpointRecord

log = structlog.get_logger(__name__)
_PAGE = 500
UNREADABLE = (
    "its secret is encrypted with a key that this server does not have: add that key to"
    " AGENTPOST_SECRET_KEYS_BEFORE, or rotate the endpoint's secret"
)


@dataclass(slots=True)
class ReencryptionResult:
    """What `reencrypt` did, by endpoint."""

    encrypted: int = 0
    current: int = 0  # were encrypted with the current key before
    unreadable: list[str] = field(default_factory=list)


class UnknownKeys:
    """Logs once of each key that secrets are encrypted with and that this server does not have."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._logged: set[str] = set()

    async def log(self) -> None:
        """Look at all endpoints."""
        unknown = await unknown_keys(self._ctx)
        if unknown - self._logged:
            self._logged |= unknown
            log.error("webhook_secrets_unreadable", keys=sorted(unknown))


async def unknown_keys(ctx: AppContext) -> set[str]:
    """The ids of keys that secrets are encrypted with and that this server does not have."""
    prefixes = await ctx.db.read(endpoint_rows.secret_prefixes)
    return {each.split(":")[1] for each in prefixes if not ctx.cipher.knows_key(f"{each}:")}


async def reencrypt(ctx: AppContext) -> ReencryptionResult:
    """Encrypt every secret with the current key, so that earlier ones can be dropped."""
    result = ReencryptionResult()
    async for endpoint in _endpoints(ctx):
        if not _is_readable(ctx, endpoint):
            result.unreadable.append(endpoint.id)
        elif all(ctx.cipher.is_current(each) for each in _values(endpoint)):
            result.current += 1
        else:
            await _encrypt(ctx, endpoint.id)
            result.encrypted += 1
    return result


async def unreadable(ctx: AppContext) -> list[str]:
    """The endpoints with a secret that no key of this server decrypts."""
    return [each.id async for each in _endpoints(ctx) if not _is_readable(ctx, each)]


@write_transaction
def _encrypt(tx: Tx, ctx: AppContext, endpoint_id: str) -> None:
    """Encrypt with the current key what could be read just now."""
    endpoint = endpoint_rows.lock(tx, endpoint_id)
    if endpoint is None or not _is_readable(ctx, endpoint):
        return  # changed meanwhile, by a node with other keys

    def again(value: str) -> str:
        return ctx.cipher.encrypt(endpoint_id, ctx.cipher.decrypt(endpoint_id, value))

    endpoint.secret = again(endpoint.secret)
    if endpoint.old_secret is not None:
        endpoint.old_secret = again(endpoint.old_secret)
    endpoint_rows.update(tx, endpoint)


def _is_readable(ctx: AppContext, endpoint: EndpointRecord) -> bool:
    try:
        for value in _values(endpoint):
            ctx.cipher.decrypt(endpoint.id, value)
    except SecretUnreadable:
        return False
    return True


def _values(endpoint: EndpointRecord) -> list[str]:
    return [each for each in (endpoint.secret, endpoint.old_secret) if each is not None]


@read_transaction
def _page(tx: Tx, _: AppContext, after: str) -> list[EndpointRecord]:
    return endpoint_rows.after(tx, after, _PAGE)


async def _endpoints(ctx: AppContext) -> AsyncIterator[EndpointRecord]:
    """All of them, read in pages."""
    last = ""
    while page := await _page(ctx, last):
        for endpoint in page:
            yield endpoint
        last = page[-1].id
