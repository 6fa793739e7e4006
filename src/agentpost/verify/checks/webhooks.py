"""Webhook endpoints (spec: Webhooks). Those made here lead nowhere and are removed at the end."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlsplit

from agentpost.domain.limits import (
    WEBHOOK_DESCRIPTION_CHARACTERS_MAX,
    WEBHOOK_ENDPOINTS_MAX,
    WEBHOOK_URL_CHARACTERS_MAX,
)
from agentpost.verify import shapes
from agentpost.verify.check import Check, Group, shaped
from agentpost.verify.exchange import Exchange
from agentpost.verify.probe import Probe, usable
from agentpost.verify.verdicts import (
    Json,
    NotChecked,
    differs,
    expect_status,
    names_field,
    refused,
    require,
    summary,
)

LIST = "/v1/webhooks"
FEW = 2
"""With more endpoints in the account, its limit is not tried: there may be too little room."""
PRIVATE = (
    "https://127.0.0.1/hook",
    "https://10.0.0.1/hook",
    "https://192.168.0.1/hook",
    "https://169.254.169.254/latest",
    "https://100.64.0.1/hook",
    "https://[::1]/hook",
    "https://[::ffff:10.0.0.1]/hook",
    "https://localhost/hook",
)
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def path_of(endpoint: Json) -> str:
    """The route of one endpoint."""
    return f"{LIST}/{endpoint['id']}"


def created(probe: Probe) -> None:
    exchange = probe.endpoint_first()
    shaped(exchange, shapes.ENDPOINT, _answered_if_possible(exchange))
    _is_secret(exchange)


def _answered_if_possible(exchange: Exchange) -> Json:
    body = exchange.json()
    code = body.get("error") if isinstance(body, dict) else None
    if code == "too_many_endpoints":
        raise NotChecked("the account has all the endpoints it may have")
    if code == "bad_url":  # some look the name up at once; no rule says that they may not
        raise NotChecked("this deployment takes no address that leads nowhere; see --hooks-url")
    return expect_status(exchange, 201)


def _is_secret(exchange: Exchange) -> None:
    secret = str(exchange.json().get("secret"))
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    right = secret.startswith("whsec_") and len(key) >= 16
    require(exchange, right, "a secret: whsec_ and base64", f"{secret[:6]}…")


def secret_once(probe: Probe) -> None:
    endpoint = probe.endpoint()
    for exchange in (
        probe.caller.call("GET", LIST),
        probe.caller.call("GET", path_of(endpoint)),
        probe.caller.call("PATCH", path_of(endpoint), body={"description": "agentpost verify"}),
    ):
        expect_status(exchange, 200)
        shown = endpoint["secret"].encode() in exchange.body or b'"secret"' in exchange.body
        require(exchange, not shown, "no secret after the first answer", "it again")


def listed(probe: Probe) -> None:
    endpoint = probe.endpoint()
    exchange = probe.caller.call("GET", LIST)
    page = expect_status(exchange, 200)
    shaped(exchange, shapes.having(object=shapes.word("list"), data=shapes.each(shapes.ENDPOINT)),
           page)  # fmt: skip
    ids = [each["id"] for each in page["data"]]
    require(exchange, endpoint["id"] in ids, f"{endpoint['id']} in the list", ids)


def read(probe: Probe) -> None:
    exchange = probe.caller.call("GET", path_of(probe.endpoint()))
    endpoint = expect_status(exchange, 200)
    shaped(exchange, shapes.ENDPOINT, endpoint)
    recent = shapes.having(recent_deliveries=shapes.each(shapes.DELIVERY))
    shaped(exchange, recent, endpoint)


def changed(probe: Probe) -> None:
    endpoint = probe.endpoint()
    before = expect_status(probe.caller.call("GET", path_of(endpoint)), 200)
    body = {"events": ["job.expired", "job.resumed"]}
    exchange = probe.caller.call("PATCH", path_of(endpoint), body=body)
    after = expect_status(exchange, 200)
    got = sorted(after.get("events") or [])
    require(exchange, got == body["events"], f"events {body['events']}", got)
    for name in ("url", "description", "disabled_at"):
        same = after.get(name) == before.get(name)
        require(exchange, same, f"{name} as before", after.get(name))


def off_and_on(probe: Probe) -> None:
    path = path_of(probe.endpoint())
    off = probe.caller.call("PATCH", path, body={"enabled": False})
    time = expect_status(off, 200).get("disabled_at")
    require(off, isinstance(time, str), "disabled_at to be set", time)
    on = probe.caller.call("PATCH", path, body={"enabled": True})
    time = expect_status(on, 200).get("disabled_at")
    require(on, time is None, "disabled_at to be null again", time)


def bad_scheme(probe: Probe) -> None:
    _bad_urls(probe, "http://example.com/hook", "ftp://example.com/hook", "example.com/hook", "")


def bad_port(probe: Probe) -> None:
    _bad_urls(probe, "https://example.com:80/hook", "https://example.com:8080/hook")


def bad_credentials(probe: Probe) -> None:
    _bad_urls(probe, "https://user:word@example.com/hook", "https://user@example.com/hook")


def bad_length(probe: Probe) -> None:
    start = "https://example.com/"
    _bad_urls(probe, start + "x" * (WEBHOOK_URL_CHARACTERS_MAX + 1 - len(start)))


def bad_address(probe: Probe) -> None:
    """The address webhooks are proved with is allowed on purpose, and other names of it may be."""
    own = urlsplit(probe.hooks.url).hostname if probe.hooks is not None else None
    allowed = LOOPBACK if own in LOOPBACK else {own}
    _bad_urls(probe, *(url for url in PRIVATE if urlsplit(url).hostname not in allowed))


def _bad_urls(probe: Probe, *urls: str) -> None:
    for url in urls:
        exchange = probe.endpoint_created("bad", url=url)
        if exchange.status == 201:
            differs(exchange, f"bad_url for {url}", "201")
        _refused_unless_full(exchange, "bad_url")


def _refused_unless_full(exchange: Exchange, *codes: str) -> None:
    body = exchange.json()
    if isinstance(body, dict) and body.get("error") == "too_many_endpoints":
        raise NotChecked("the account has all the endpoints it may have")
    refused(exchange, 400, *codes)


def bad_events(probe: Probe) -> None:
    _refused_unless_full(probe.endpoint_created("bad", events=["message.verify"]), "bad_events")
    exchange = probe.caller.call(
        "PATCH", path_of(probe.endpoint()), body={"events": ["message.verify"]}
    )
    refused(exchange, 400, "bad_events")


def long_description(probe: Probe) -> None:
    text = "x" * (WEBHOOK_DESCRIPTION_CHARACTERS_MAX + 1)
    exchange = probe.endpoint_created("bad", description=text)
    _refused_unless_full(exchange, "bad_request", "invalid_request")


def strict_types(probe: Probe) -> None:
    wrong: tuple[tuple[str, Any], ...] = (
        ("url", {}),
        ("url", {"url": 5}),
        ("events", {"url": "https://example.com/", "events": "*"}),
    )
    for field, body in wrong:
        names_field(probe.remember_endpoint(probe.caller.call("POST", LIST, body=body)), field)


def rotated(probe: Probe) -> None:
    endpoint = probe.endpoint()
    exchange = probe.caller.call("POST", f"{path_of(endpoint)}/rotate-secret")
    body = expect_status(exchange, 200)
    same = (body.get("object"), body.get("id")) == ("webhook_endpoint", endpoint["id"])
    require(exchange, same, f"the endpoint {endpoint['id']}", body.get("id"))
    _is_secret(exchange)
    require(exchange, body["secret"] != endpoint["secret"], "a new secret", "the old one")


def deleted(probe: Probe) -> None:
    made = _answered_if_possible(probe.endpoint_created("deleted"))
    exchange = probe.remove_endpoint(made["id"])
    body = expect_status(exchange, 200)
    reported = (body.get("object"), body.get("id"), body.get("deleted"))
    require(exchange, reported == ("webhook_endpoint", made["id"], True), "deleted: true", reported)
    refused(probe.caller.call("DELETE", path_of(made)), 404, "not_found")
    refused(probe.caller.call("GET", path_of(made)), 404, "not_found")


def at_most_ten(probe: Probe) -> None:
    """Whatever is made here is removed again at once."""
    page = expect_status(probe.caller.call("GET", LIST), 200).get("data") or []
    others = [each for each in page if each.get("id") not in probe.created.endpoints]
    if len(others) > FEW:
        raise NotChecked(f"the account has {len(others)} endpoints of its own, over {FEW}")
    made: list[Json] = []
    try:
        while True:
            exchange = probe.endpoint_created("full")
            if exchange.status != 201:
                break
            made.append(usable(exchange, 201))
            count = len(page) + len(made)
            within = count <= WEBHOOK_ENDPOINTS_MAX
            require(exchange, within, "409 too_many_endpoints", f"endpoint number {count}")
        refused(exchange, 409, "too_many_endpoints")
        count = len(page) + len(made)
        words = f"room for {WEBHOOK_ENDPOINTS_MAX}"
        require(exchange, count == WEBHOOK_ENDPOINTS_MAX, words, f"room for {count}")
    finally:
        for endpoint in made:
            probe.remove_endpoint(endpoint["id"])


def unknown(probe: Probe) -> None:
    path = f"{LIST}/whe_{probe.nonce}"
    for exchange in (
        probe.caller.call("GET", path),
        probe.caller.call("PATCH", path, body={"enabled": False}),
        probe.caller.call("DELETE", path),
        probe.caller.call("POST", f"{path}/rotate-secret"),
    ):
        if exchange.status != 404:
            differs(exchange, "404 not_found", summary(exchange))
        refused(exchange, 404, "not_found")


URL = "Webhooks, url"
GROUP = Group(
    "webhooks",
    "webhook endpoints",
    (
        Check("created", "A new endpoint has every field and a secret.", "Webhook endpoint",
              created),
        Check("listed", "The list has every endpoint.", "Webhooks", listed),
        Check("read", "An endpoint is read with its newest deliveries.", "Webhook endpoint",
              read),
        Check("secret-once", "A secret is shown once.", "Webhook endpoint", secret_once),
        Check("changed", "A change touches what it names only.", "Webhooks", changed),
        Check("off-and-on", "An endpoint is turned off, and on again.",
              "Webhook endpoint states", off_and_on),
        Check("bad-scheme", "An address that is not https is bad_url.", URL, bad_scheme),
        Check("bad-port", "A port other than 443 and 8443 is bad_url.", URL, bad_port),
        Check("bad-credentials", "An address with a user is bad_url.", URL, bad_credentials),
        Check("bad-length", "Over 2,000 characters are bad_url.", URL, bad_length),
        Check("bad-address", "Private and internal addresses are bad_url.", URL, bad_address),
        Check("bad-events", "Unknown events are bad_events.", "Errors", bad_events),
        Check("long-description", "A description over 120 characters is refused.", "Limits",
              long_description),
        Check("strict-types", "A wrong type is invalid_request and names its field.", "Errors",
              strict_types),
        Check("rotated", "Rotating gives a new secret.", "Webhooks", rotated),
        Check("deleted", "A deleted endpoint is gone; deleting it again is not_found.",
              "Webhooks", deleted),
        Check("at-most-ten", "An eleventh endpoint is too_many_endpoints.", "Webhook events 9",
              at_most_ten),
        Check("unknown", "An unknown endpoint is not_found.", "Webhooks", unknown),
    ),
)  # fmt: skip
