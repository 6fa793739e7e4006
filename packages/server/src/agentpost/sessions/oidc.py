"""Signing in at an identity provider: OpenID Connect, the code flow with PKCE (design: Signing in).

The provider is asked through the guarded way out like every other address: one on a private
address has to be in ``egress_allow``.
"""

import json
import re
import secrets
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
import structlog
from msgspec import Struct

from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.times import HOUR, MINUTE, SECOND
from agentpost.egress.errors import EgressError
from agentpost.sessions import actions as sessions, password_links, throttle
from agentpost.sessions.actions import Visitor
from agentpost.sessions.password_links import Offer
from agentpost.users import actions as users, rows as user_rows
from agentpost.users.address_rules import check_mail_address
from agentpost.users.records import UserRecord

log = structlog.get_logger(__name__)

_SECRET_BYTES: Final = 32
_SECONDS: Final = 10.0
_BYTES_MAX: Final = 512 * 1024
_KEPT: Final = HOUR
_KEYS_AGAIN: Final = MINUTE
_LEEWAY_SECONDS: Final = 60
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
"""Public keys only: with a shared secret whoever knows it could make tokens."""
_FAILURES: Final = "oidc_failures"
_REMEMBERED: Final = 5
_REMEMBERED_EVERY: Final = 10 * SECOND
_REASON_CHARACTERS: Final = 300
_CODE: Final = re.compile(r"[a-z_]{1,60}")
_AGAIN: Final = "This sign-in was begun in another browser, or too long ago. Try again."

Document = Mapping[str, Any]


class OidcError(Exception):
    """Somebody does not come in this way; the text is for them. ``reason``: for the operator, ""
    for what only concerns the visitor."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class _SignInRefused(OidcError):
    """The provider is well, and they may not come in: the operator reads the same text."""

    def __init__(self, text: str) -> None:
        super().__init__(text, text)


@dataclass(frozen=True, slots=True)
class Failure:
    """A sign-in that failed; ``at`` in microseconds."""

    at: int
    reason: str


class Journey(Struct, frozen=True):
    """What has to fit when somebody returns from the provider; kept in their browser.

    Attributes:
        state: in the address they return to.
        nonce: in the token.
        verifier: proves to the provider that the code comes from who asked for it (PKCE).
        wanted: where they go on to, a path of ours.
    """

    state: str
    nonce: str
    verifier: str
    wanted: str

    @classmethod
    def of(cls, text: str) -> "Journey":
        """What `text` has made; raises `OidcError`."""
        try:
            journey = msgspec.json.decode(urlsafe_b64decode(text), type=cls)
        except ValueError:
            raise OidcError(_AGAIN) from None
        if not (journey.state and journey.nonce and journey.verifier):
            raise OidcError(_AGAIN)
        return journey

    def text(self) -> str:
        """How the browser keeps it."""
        return urlsafe_b64encode(msgspec.json.encode(self)).decode()


async def begin(ctx: AppContext, callback: str, next_path: str) -> tuple[Journey, str]:
    """Begin a sign-in: what to keep, and the provider's address to go to. ``callback``: our address
    to return to. Raises `OidcError` when the provider does not answer."""
    from authlib.oauth2.rfc7636 import create_s256_code_challenge

    metadata = await _metadata(ctx)
    state, nonce, verifier = (secrets.token_urlsafe(_SECRET_BYTES) for _ in range(3))
    journey = Journey(state, nonce, verifier, next_path)
    query = {
        "response_type": "code",
        "client_id": ctx.settings.oidc_client_id,
        "redirect_uri": callback,
        "scope": " ".join(dict.fromkeys(["openid", *ctx.settings.oidc_scopes])),
        "state": journey.state,
        "nonce": journey.nonce,
        "code_challenge": create_s256_code_challenge(journey.verifier),
        "code_challenge_method": "S256",
    }
    address = str(metadata["authorization_endpoint"])
    return journey, f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"


async def finish(
    ctx: AppContext,
    callback: str,
    journey: Journey,
    query: Mapping[str, str],
    visitor: Visitor,
) -> str | list[Offer]:
    """Somebody returned, with ``query`` in the address: the secret of a new session, or the
    invitations that they may accept when they have no user. Raises `OidcError`, ``rate_limited``
    after too many failures."""
    counts = await throttle.count_arrival(ctx, visitor.address, visitor.device)
    if not secrets.compare_digest(query.get("state", "").encode(), journey.state.encode()):
        raise OidcError(_AGAIN)
    if "error" in query:
        code = query["error"] if _CODE.fullmatch(query["error"]) else "an error"
        raise _SignInRefused(f"{_name(ctx)} did not sign you in ({code}).")
    metadata = await _metadata(ctx)
    if query.get("iss", metadata["issuer"]) != metadata["issuer"]:
        raise OidcError(_AGAIN)
    tokens = await _tokens(ctx, metadata, callback, journey, query.get("code", ""))
    claims = await _claims(ctx, metadata, tokens, journey.nonce)
    email = _verified_email(ctx, claims)
    subject = f"{claims['iss']} {claims['sub']}"

    def fn(tx: Tx) -> str | list[Offer]:
        user = _user(tx, ctx, subject, email, visitor.address)
        if user is None:
            offers = password_links.offers(tx, ctx, email, subject)
            if offers:
                return offers
            raise _SignInRefused(f"Nobody has invited {email}. Ask an owner of the account to.")
        return sessions.begin(tx, ctx, user, visitor)

    session_secret = await ctx.db.write(fn)
    await throttle.give_back(ctx, counts)
    return session_secret


async def remember(ctx: AppContext, problem: OidcError) -> None:
    """Keep for the operator why a sign-in failed. One in ten seconds is kept by each process, so
    that strangers cannot make it write."""
    now, provider = ctx.clock.passed(), ctx.provider
    due = provider.remembered_at is None or now - provider.remembered_at >= _REMEMBERED_EVERY
    if not problem.reason or not due:
        return
    provider.remembered_at = now

    def fn(tx: Tx) -> None:
        newest = [(ctx.clock.now(), problem.reason[:_REASON_CHARACTERS])]
        newest += [(each.at, each.reason) for each in failures(tx)]
        meta.put(tx, _FAILURES, json.dumps(newest[:_REMEMBERED]))

    await ctx.db.write(fn)


def failures(tx: Tx) -> list[Failure]:
    """The last sign-ins that failed, newest first; those that succeed meanwhile stay out of it."""
    return [Failure(at, reason) for at, reason in json.loads(meta.get(tx, _FAILURES) or "[]")]


# --- who it is ------------------------------------------------------------------------------------
def _verified_email(ctx: AppContext, claims: Document) -> str:
    settings = ctx.settings
    email = claims.get(settings.oidc_email_claim)
    try:
        address = users.normal_email(check_mail_address(email if isinstance(email, str) else ""))
    except ValueError:
        raise _SignInRefused(f"{_name(ctx)} does not tell your e-mail address.") from None
    claim = settings.oidc_verified_claim
    if claim and claims.get(claim) is not True:
        raise _SignInRefused(f"{_name(ctx)} has not verified your e-mail address {address}.")
    return address


def _user(tx: Tx, ctx: AppContext, subject: str, email: str, address: str) -> UserRecord | None:
    """Who that is here; None when they have to accept an invitation first.

    Whoever came in once is known by the provider's own id from then on, so an address that is given
    to somebody else there opens nothing here.
    """
    linked_user = user_rows.by_subject(tx, subject)
    if linked_user is not None:
        return linked_user
    user = user_rows.by_email(tx, email) or users.settle(tx, ctx, email)
    if user is None:
        return None
    if user.oidc_subject is not None:
        raise _SignInRefused(
            f"{email} is somebody else here. Ask an owner of the account to remove that user and"
            " to invite you."
        )
    password_links.tie(tx, ctx, user, subject, address)
    return user


# --- talking to the provider ----------------------------------------------------------------------
async def _metadata(ctx: AppContext) -> Document:
    """What the provider says of itself."""
    issuer = ctx.settings.oidc_issuer.rstrip("/")
    metadata = await _document(ctx, f"{issuer}/.well-known/openid-configuration", _KEPT)
    names = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
    if not all(isinstance(metadata.get(name), str) for name in names):
        raise _broken(ctx, "its description lacks what has to be there")
    if metadata["issuer"].rstrip("/") != issuer:  # else it could speak for somebody else
        raise _broken(ctx, "it calls itself by another name than AGENTPOST_OIDC_ISSUER")
    return metadata


async def _tokens(
    ctx: AppContext, metadata: Document, callback: str, journey: Journey, code: str
) -> Document:
    settings = ctx.settings
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": callback,
        "code_verifier": journey.verifier,
    }
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    secret = settings.oidc_client_secret.get_secret_value()
    methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if secret and "client_secret_basic" in methods:
        pair = f"{quote(settings.oidc_client_id, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    else:
        form["client_id"] = settings.oidc_client_id
        if secret:
            form["client_secret"] = secret
    body = urlencode(form).encode()
    return await _ask(ctx, "POST", metadata["token_endpoint"], headers, body)


async def _claims(ctx: AppContext, metadata: Document, tokens: Document, nonce: str) -> Document:
    """What the provider says of the person, checked; from its own page where the token is short."""
    token, access = tokens.get("id_token"), tokens.get("access_token")
    if not isinstance(token, str):
        raise _broken(ctx, "it sent no token")
    try:
        claims = await _verify(ctx, metadata, token, access, nonce, _KEPT)
    except _OtherKey:  # it may have new ones
        claims = await _verify(ctx, metadata, token, access, nonce, _KEYS_AGAIN)
    page = metadata.get("userinfo_endpoint")
    if ctx.settings.oidc_email_claim in claims or not (
        isinstance(page, str) and isinstance(access, str)
    ):
        return claims
    more = await _ask(ctx, "GET", page, {"Authorization": f"Bearer {access}"}, None)
    if more.get("sub") != claims["sub"]:
        raise _broken(ctx, "it speaks of two people")
    return {**more, **claims}


class _OtherKey(OidcError):
    """The token is signed with a key that we do not have, or do not have any more: a provider may
    give a new key the id of an old one."""


async def _verify(
    ctx: AppContext, metadata: Document, token: str, access: object, nonce: str, seconds_kept: int
) -> Document:
    from authlib.oidc.core import CodeIDToken
    from joserfc import jwt
    from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
    from joserfc.jwk import KeySet

    jwks = await _document(ctx, metadata["jwks_uri"], seconds_kept)
    rules = {
        "iss": {"essential": True, "value": metadata["issuer"]},
        "aud": {"essential": True, "value": ctx.settings.oidc_client_id},
    }
    params = {
        "nonce": nonce,
        "client_id": ctx.settings.oidc_client_id,
        "access_token": access,
    }
    try:
        keys = KeySet.import_key_set(dict(jwks))  # type: ignore[arg-type]
        decoded = jwt.decode(token, keys, algorithms=_ALGORITHMS)
        claims = CodeIDToken(decoded.claims, decoded.header, rules, params)
        claims.validate(now=ctx.clock.now() // SECOND, leeway=_LEEWAY_SECONDS)
    except (InvalidKeyIdError, BadSignatureError) as error:
        unknown = isinstance(error, InvalidKeyIdError)
        broken = _broken(ctx, f"its token has {'an unknown key' if unknown else 'a bad signature'}")
        raise _OtherKey(str(broken), broken.reason) from error
    except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _broken(ctx, f"its token is not valid ({type(error).__name__})") from error
    return dict(claims)


async def _document(ctx: AppContext, url: str, seconds_kept: int) -> Document:
    """A public document of the provider, at most so old, in microseconds."""
    documents, now = ctx.provider.documents, ctx.clock.passed()
    cached_document = documents.get(url)
    if cached_document is not None and now - cached_document[0] < seconds_kept:
        return cached_document[1]
    document = await _ask(ctx, "GET", url, {"Accept": "application/json"}, None)
    documents[url] = now, document
    return document


async def _ask(
    ctx: AppContext, method: str, url: str, headers: Mapping[str, str], body: bytes | None
) -> Document:
    egress = ctx.new_egress()
    try:
        answer = await egress.exchange(
            method, url, headers, body, max_bytes=_BYTES_MAX, seconds=_SECONDS
        )
    except EgressError as error:
        raise _broken(ctx, f"{url.partition('?')[0]}: {error}") from error
    finally:
        await egress.aclose()
    try:
        document = json.loads(answer.body)
    except ValueError:
        document = None
    if answer.status != 200 or not isinstance(document, dict):
        raise _broken(ctx, f"{url.partition('?')[0]} answered {answer.status}")
    return document


def _broken(ctx: AppContext, reason: str) -> OidcError:
    """The visitor learns that it is not their fault, the log why."""
    log.warning("oidc_failed", reason=reason)
    return OidcError(
        f"Signing in with {_name(ctx)} does not work at the moment. The server's log says why.",
        f"{_name(ctx)} cannot be used: {reason}",
    )


def _name(ctx: AppContext) -> str:
    return ctx.settings.oidc_name
