"""A small identity provider on a local port: OpenID Connect, as much as a sign-in needs."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.client.scripted import served

CLIENT, SECRET = "agentpost-test", "s3cret:/"


@dataclass
class Provider:
    """Says that whoever comes is ``person``, and refuses what a strict provider would.

    Attributes:
        mutation: changes the claims of the token, or of the header under "kid".
        hidden: claims that only its own page tells.
    """

    now: int
    url: str = ""
    issuer: str = ""
    person: dict[str, Any] = field(default_factory=dict)
    mutation: dict[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2_048, auto_kid=True))
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def description(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        return JSONResponse(
            {
                "issuer": self.issuer or self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "userinfo_endpoint": f"{self.url}/me",
                "jwks_uri": f"{self.url}/keys",
            }
        )

    async def keys(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def authorize(self, request: Request) -> Response:
        given = dict(request.query_params)
        assert given["response_type"] == "code"
        assert given["client_id"] == CLIENT
        assert given["code_challenge_method"] == "S256"
        assert "openid" in given["scope"].split()
        code = f"code{len(self.codes)}"
        self.codes[code] = given
        answer = urlencode({"code": code, "state": given["state"], "iss": self.issuer or self.url})
        return RedirectResponse(f"{given['redirect_uri']}?{answer}", 302)

    async def token(self, request: Request) -> Response:
        form = {
            name: values[0] for name, values in parse_qs((await request.body()).decode()).items()
        }
        pair = b64encode(f"{CLIENT}:s3cret%3A%2F".encode()).decode()
        given = self.codes.pop(form.get("code", ""), None)
        if (
            given is None
            or request.headers.get("authorization") != f"Basic {pair}"
            or form["redirect_uri"] != given["redirect_uri"]
            or create_s256_code_challenge(form["code_verifier"]) != given["code_challenge"]
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        known = {name: value for name, value in self.person.items() if name not in self.hidden}
        claims: dict[str, Any] = {
            "iss": self.issuer or self.url,
            "aud": CLIENT,
            "iat": self.now,
            "exp": self.now + 300,
            "nonce": given["nonce"],
            **known,
            **self.mutation,
        }
        kid = claims.pop("kid", self.key.kid)
        header = {"alg": "RS256", "kid": kid}
        made = jwt.encode(header, claims, self.key)
        return JSONResponse({"id_token": made, "access_token": "access", "token_type": "Bearer"})

    async def me(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer access"
        return JSONResponse(self.person)


def settings_of(provider: Provider, **more: Any) -> dict[str, Any]:
    """Of a site whose users sign in there."""
    return {
        "oidc_issuer": provider.url,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SECRET,
        "oidc_domains": ["Corp.example"],
        "oidc_account": "ann@example.com",
        "egress_allow": "127.0.0.1",
        **more,
    }


@contextmanager
def provided(now: int) -> Iterator[Provider]:
    """A provider that runs; ``now`` in seconds."""
    made = Provider(now)
    app = Starlette(
        routes=[
            Route("/.well-known/openid-configuration", made.description),
            Route("/keys", made.keys),
            Route("/authorize", made.authorize),
            Route("/token", made.token, methods=["POST"]),
            Route("/me", made.me),
        ]
    )
    with served(app) as url:
        made.url = url
        yield made


def query(address: str) -> Mapping[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
