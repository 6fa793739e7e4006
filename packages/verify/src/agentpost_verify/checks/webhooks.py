"""Webhook endpoints (spec: Webhooks). Those made here lead nowhere and are removed at the end."""

import base64
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange, Json, expect, expect_fields, expect_shape
from agentpost_verify.one_answer import one_answer
from agentpost_verify.probe import Probe

LIST = "/v1/webhooks"
ENDPOINTS_MAX = 10
FEW = 2
"""With more endpoints in the account, its limit is not tried: there may be too little room."""
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
PRIVATE_HOSTS = (
    *("127.0.0.1", "10.0.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1"),
    *("[::1]", "[::ffff:10.0.0.1]", "localhost"),
)
URL_START = "https://example.com/"


@pytest.fixture
def path(endpoint: Json) -> str:
    """The route of the endpoint most checks look at."""
    return f"{LIST}/{endpoint['id']}"


def test_created(endpoint_sent: Exchange) -> None:
    """A new endpoint has every field and a secret. (Webhook endpoint)"""
    expect_unless_full(endpoint_sent, "201")
    body = expect_shape(endpoint_sent, shapes.ENDPOINT, "201")
    expect_secret(endpoint_sent, body)


def expect_unless_full(exchange: Exchange, *outcomes: str) -> Json:
    """The answer to a new endpoint, of one of these outcomes; skips when it cannot be created for a
    reason that breaks no rule."""
    if exchange.error == "too_many_endpoints":
        pytest.skip("the account has all the endpoints it may have")
    # Some look the name up at once; no rule says that they may not.
    if exchange.error == "bad_url" and "201" in outcomes:
        pytest.skip("this deployment takes no address that leads nowhere; see --hooks-url")
    return expect(exchange, *outcomes)


def expect_secret(exchange: Exchange, endpoint: Json) -> None:
    """Assert that a body shows a secret of enough bytes."""
    secret = str(endpoint.get("secret"))
    words = f"a secret: whsec_ and base64 in answer to {exchange.line}"
    assert secret[:6] == "whsec_", words
    try:
        size = len(base64.b64decode(secret[6:], validate=True))
    except ValueError:
        size = 0
    assert size >= 16, words


def test_listed(probe: Probe, endpoint: Json) -> None:
    """The list has every endpoint. (Webhooks)"""
    exchange = probe.call("GET", LIST)
    kind = shapes.having(object=shapes.word("list"), data=shapes.each(shapes.ENDPOINT))
    ids = [each["id"] for each in expect_shape(exchange, kind)["data"]]
    assert endpoint["id"] in ids, f"{endpoint['id']} in the list"


def test_read(probe: Probe, path: str) -> None:
    """An endpoint is read with its newest deliveries. (Webhook endpoint)"""
    exchange = probe.call("GET", path)
    body = expect_shape(exchange, shapes.ENDPOINT)
    expect_fields(exchange, shapes.having(recent_deliveries=shapes.each(shapes.DELIVERY)), body)


def test_secret_once(probe: Probe, endpoint: Json, path: str) -> None:
    """A secret is shown once. (Webhook endpoint)"""
    change = {"description": "agentpost verify"}
    for method, place, body in (("GET", LIST, None), ("GET", path, None), ("PATCH", path, change)):
        exchange = probe.call(method, place, body=body)
        expect(exchange, "200")
        is_shown = endpoint["secret"].encode() in exchange.body or b'"secret"' in exchange.body
        assert is_shown is False, "no secret after the first answer"


def test_changed(probe: Probe, path: str) -> None:
    """A change touches what it names only. (Webhooks)"""
    before = expect(probe.call("GET", path), "200")
    events = ["job.expired", "job.resumed"]
    exchange = probe.call("PATCH", path, body={"events": events})
    after = expect(exchange, "200")
    assert sorted(after.get("events") or []) == events, f"events {events}"
    for name in ("url", "description", "disabled_at"):
        assert after.get(name) == before.get(name), f"{name} as before"


def test_off_and_on(probe: Probe, path: str) -> None:
    """An endpoint is turned off, and on again. (Webhook endpoint states)"""
    exchange = probe.call("PATCH", path, body={"enabled": False})
    moment = expect(exchange, "200").get("disabled_at")
    assert type(moment) is str, "disabled_at to be set"
    exchange = probe.call("PATCH", path, body={"enabled": True})
    moment = expect(exchange, "200").get("disabled_at")
    assert moment is None, "disabled_at to be null again"


def bad_url(rule: str, *urls: str) -> Callable[..., None]:
    """A check: an endpoint with one of these addresses is refused.

    The address webhooks are proved with is allowed on purpose, and other names of it may be.
    """

    @pytest.mark.parametrize("url", urls)
    def check(probe: Probe, url: str) -> None:
        own = urlsplit(probe.hooks.url).hostname if probe.hooks is not None else None
        if urlsplit(url).hostname not in (LOOPBACK if own in LOOPBACK else {own or "none"}):
            exchange = probe.create_endpoint("bad", url=url)
            assert exchange.status != 201, f"bad_url for {url}"
            expect_unless_full(exchange, "400 bad_url")

    check.__doc__ = rule
    return check


test_bad_scheme = bad_url(
    "An address that is not https is bad_url. (Webhooks, url)",
    "http://example.com/hook", "ftp://example.com/hook", "example.com/hook", "",
)  # fmt: skip
test_bad_port = bad_url(
    "A port other than 443 and 8443 is bad_url. (Webhooks, url)",
    "https://example.com:80/hook", "https://example.com:8080/hook",
)  # fmt: skip
test_bad_credentials = bad_url(
    "An address with a user is bad_url. (Webhooks, url)",
    "https://user:word@example.com/hook", "https://user@example.com/hook",
)  # fmt: skip
test_bad_length = bad_url(
    "Over 2,000 characters are bad_url. (Webhooks, url)", URL_START.ljust(2_001, "x")
)
test_bad_address = bad_url(
    "Private and internal addresses are bad_url. (Webhooks, url)",
    *(f"https://{host}/hook" for host in PRIVATE_HOSTS),
)


def test_bad_events(probe: Probe, path: str) -> None:
    """Unknown events are bad_events. (Errors)"""
    body = {"events": ["message.verify"]}
    expect_unless_full(probe.create_endpoint("bad", **body), "400 bad_events")
    expect(probe.call("PATCH", path, body=body), "400 bad_events")


def test_long_description(probe: Probe) -> None:
    """A description over 120 characters is refused. (Limits)"""
    exchange = probe.create_endpoint("bad", description="x" * 121)
    expect_unless_full(exchange, "400 bad_request", "400 invalid_request")


test_strict_types = one_answer(
    "A wrong type is invalid_request and names its field. (Errors)",
    "400 invalid_request",
    (f"POST {LIST}", {}, "url"),
    (f"POST {LIST}", {"url": 5}, "url"),
    (f"POST {LIST}", {"url": URL_START, "events": "*"}, "events"),
)


def test_rotated(probe: Probe, endpoint: Json, path: str) -> None:
    """Rotating gives a new secret. (Webhooks)"""
    exchange = probe.call("POST", f"{path}/rotate-secret")
    body = expect(exchange, "200")
    identity = (body.get("object"), body.get("id"))
    assert identity == ("webhook_endpoint", endpoint["id"]), f"the endpoint {endpoint['id']}"
    expect_secret(exchange, body)
    is_new = body["secret"] != endpoint["secret"]
    assert is_new is True, "a new secret"


def test_deleted(probe: Probe) -> None:
    """A deleted endpoint is gone; deleting it again is not_found. (Webhooks)"""
    endpoint_id = expect_unless_full(probe.create_endpoint("deleted"), "201")["id"]
    exchange = probe.remove_endpoint(endpoint_id)
    body = expect(exchange, "200")
    deletion = (body.get("object"), body.get("id"), body.get("deleted"))
    assert deletion == ("webhook_endpoint", endpoint_id, True), "deleted: true"
    expect(probe.call("DELETE", f"{LIST}/{endpoint_id}"), "404 not_found")
    expect(probe.call("GET", f"{LIST}/{endpoint_id}"), "404 not_found")


def test_at_most_ten(probe: Probe) -> None:
    """An eleventh endpoint is too_many_endpoints. (Webhook events 9)

    Each endpoint that is made here is removed again at once.
    """
    page = expect(probe.call("GET", LIST), "200").get("data") or []
    others = [each for each in page if each.get("id") not in probe.created.endpoints]
    if len(others) > FEW:
        pytest.skip(f"the account has {len(others)} own endpoints, over {FEW}")
    new_ids: list[str] = []
    try:
        while (exchange := probe.create_endpoint("full")).status == 201:
            new_ids.append(exchange.sample(201)["id"])
            count = len(page) + len(new_ids)
            assert count <= ENDPOINTS_MAX, "409 too_many_endpoints for the eleventh"
        expect(exchange, "409 too_many_endpoints")
        assert len(page) + len(new_ids) == ENDPOINTS_MAX, f"room for {ENDPOINTS_MAX}"
    finally:
        for endpoint_id in new_ids:
            probe.remove_endpoint(endpoint_id)


test_unknown = one_answer(
    "An unknown endpoint is not_found. (Webhooks)",
    "404 not_found",
    "GET /v1/webhooks/whe_{nonce}",
    ("PATCH /v1/webhooks/whe_{nonce}", {"enabled": False}),
    "DELETE /v1/webhooks/whe_{nonce}",
    "POST /v1/webhooks/whe_{nonce}/rotate-secret",
)
