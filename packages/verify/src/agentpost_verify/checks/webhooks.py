"""Webhook endpoints (spec: Webhooks). Those made here lead nowhere and are removed at the end."""

import base64
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from agentpost_verify import shapes
from agentpost_verify.answers import Exchange, Json
from agentpost_verify.probe import Probe
from agentpost_verify.samples import one_answer

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
    expect_secret(endpoint_sent.expect("201", shape=shapes.ENDPOINT))


def expect_unless_full(exchange: Exchange, *outcomes: str) -> Json:
    """The answer to a new endpoint, of one of these outcomes; skips when it cannot be created for a
    reason that breaks no rule."""
    if exchange.error == "too_many_endpoints":
        pytest.skip("the account has all the endpoints it may have")
    # Some look the name up at once; no rule says that they may not.
    if exchange.error == "bad_url" and "201" in outcomes:
        pytest.skip("this deployment takes no address that leads nowhere; see --hooks-url")
    return exchange.expect(*outcomes)


def expect_secret(endpoint: Json) -> None:
    """Assert that a body shows a secret of enough bytes."""
    prefix, _, secret = str(endpoint.get("secret")).partition("_")
    try:
        size = len(base64.b64decode(secret, validate=True))
    except ValueError:
        size = 0
    assert (prefix, size >= 16) == ("whsec", True), "a secret: whsec_ and base64 of 16 bytes"


def test_listed(probe: Probe, endpoint: Json) -> None:
    """The list has every endpoint. (Webhooks)"""
    page = probe.call("GET", LIST).expect("200", shape=shapes.ENDPOINT_LIST)
    ids = [each["id"] for each in page["data"]]
    assert endpoint["id"] in ids, f"{endpoint['id']} in the list"


test_read = one_answer(
    "An endpoint is read with its newest deliveries. (Webhook endpoint)",
    "200", "GET {path}", shape=shapes.ENDPOINT_READ,
)  # fmt: skip


def test_secret_once(probe: Probe, endpoint: Json, path: str) -> None:
    """A secret is shown once. (Webhook endpoint)"""
    change = {"description": "agentpost verify"}
    for method, place, body in (("GET", LIST, None), ("GET", path, None), ("PATCH", path, change)):
        exchange = probe.call(method, place, body=body)
        exchange.expect("200")
        is_shown = endpoint["secret"].encode() in exchange.body or b'"secret"' in exchange.body
        assert is_shown is False, "no secret after the first answer"


def test_changed(probe: Probe, path: str) -> None:
    """A change touches what it names only. (Webhooks)"""
    before = probe.call("GET", path).expect("200")
    events = ["job.expired", "job.resumed"]
    after = probe.call("PATCH", path, body={"events": events}).expect("200")
    assert sorted(after.get("events") or []) == events, f"events {events}"
    for name in ("url", "description", "disabled_at"):
        assert after.get(name) == before.get(name), f"{name} as before"


def test_off_and_on(probe: Probe, path: str) -> None:
    """An endpoint is turned off, and on again. (Webhook endpoint states)"""
    endpoint = probe.call("PATCH", path, body={"enabled": False}).expect("200")
    assert type(endpoint.get("disabled_at")) is str, "disabled_at to be set"
    endpoint = probe.call("PATCH", path, body={"enabled": True}).expect("200")
    assert endpoint.get("disabled_at") is None, "disabled_at to be null again"


def bad_url(rule: str, *urls: str) -> Callable[..., None]:
    """A check: an endpoint with one of these addresses is refused.

    The address webhooks are proved with is allowed on purpose, and other names of it may be.
    """

    def check(probe: Probe) -> None:
        own = urlsplit(probe.hooks.url).hostname if probe.hooks is not None else None
        for url in urls:
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
    probe.call("PATCH", path, body=body).expect("400 bad_events")


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
    body = probe.call("POST", f"{path}/rotate-secret").expect("200")
    identity = (body.get("object"), body.get("id"))
    assert identity == ("webhook_endpoint", endpoint["id"]), f"the endpoint {endpoint['id']}"
    expect_secret(body)
    is_new = body["secret"] != endpoint["secret"]
    assert is_new is True, "a new secret"


def test_deleted(probe: Probe) -> None:
    """A deleted endpoint is gone; deleting it again is not_found. (Webhooks)"""
    endpoint_id = expect_unless_full(probe.create_endpoint("deleted"), "201")["id"]
    body = probe.call("DELETE", f"{LIST}/{endpoint_id}").expect("200")
    deletion = (body.get("object"), body.get("id"), body.get("deleted"))
    assert deletion == ("webhook_endpoint", endpoint_id, True), "deleted: true"
    probe.call("DELETE", f"{LIST}/{endpoint_id}").expect("404 not_found")
    probe.call("GET", f"{LIST}/{endpoint_id}").expect("404 not_found")


def test_at_most_ten(probe: Probe) -> None:
    """An eleventh endpoint is too_many_endpoints. (Webhook events 9)

    Each endpoint that is made here is removed again at once.
    """
    page = probe.call("GET", LIST).expect("200").get("data") or []
    others = [each for each in page if each.get("id") not in probe.endpoints]
    if len(others) > FEW:
        pytest.skip(f"the account has {len(others)} own endpoints, over {FEW}")
    new_ids: list[str] = []
    try:
        while (exchange := probe.create_endpoint("full")).status == 201:
            new_ids.append(exchange.sample(201)["id"])
            count = len(page) + len(new_ids)
            assert count <= ENDPOINTS_MAX, "409 too_many_endpoints for the eleventh"
        exchange.expect("409 too_many_endpoints")
        assert len(page) + len(new_ids) == ENDPOINTS_MAX, f"room for {ENDPOINTS_MAX}"
    finally:
        for endpoint_id in new_ids:
            probe.call("DELETE", f"{LIST}/{endpoint_id}")


test_unknown = one_answer(
    "An unknown endpoint is not_found. (Webhooks)",
    "404 not_found",
    "GET /v1/webhooks/whe_{nonce}",
    ("PATCH /v1/webhooks/whe_{nonce}", {"enabled": False}),
    "DELETE /v1/webhooks/whe_{nonce}",
    "POST /v1/webhooks/whe_{nonce}/rotate-secret",
)
