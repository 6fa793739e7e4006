"""`webhooks.unwrap`: what is taken, and what is refused for which reason."""

import json
from collections.abc import Callable
from http.client import HTTPMessage
from typing import Any

import pytest
import starlette.datastructures

from agentpost.webhooks import signing
from agentpost_client import ConfigError, WebhookRefused, webhooks

SECRET = signing.new_secret()
OLD = signing.new_secret()
NOW = 1_769_851_800
MESSAGE = {
    "type": "message.completed",
    "timestamp": "2026-01-31T09:30:00.000000Z",
    "data": {"id": "msg_1", "status": "completed", "final": True, "reply": "Héllo"},
}
JOB = {"type": "job.failed", "data": {"job_id": "exe_1", "status": "failed", "message_id": "msg_1"}}
TEST = {"type": "webhook.test", "data": {"webhook_endpoint_id": "whe_1"}}
NEW = {"type": "comet.seen", "data": {"tail": "long"}}


def signed(value: Any, *secrets: str, at: int = NOW) -> tuple[bytes, dict[str, str]]:
    """A request as the server sends it."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return body, signing.signed_headers(secrets or (SECRET,), "evt_1", at, body)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (MESSAGE, webhooks.MessageEvent),
        (JOB, webhooks.JobEvent),
        (TEST, webhooks.TestEvent),
        (NEW, webhooks.UnknownEvent),
    ],
)
def test_a_signed_event_is_read(value: Any, kind: type) -> None:
    body, headers = signed(value)
    event = webhooks.unwrap(body, headers, SECRET, now=NOW)
    assert type(event) is kind
    assert (event.type, event.id, event.raw) == (value["type"], "evt_1", value)


def message_of(headers: dict[str, str]) -> HTTPMessage:
    """As http.server has them."""
    parsed = HTTPMessage()
    for name, value in headers.items():
        parsed[name] = value
    return parsed


def of_werkzeug(headers: dict[str, str]) -> Any:
    from werkzeug.datastructures import Headers

    return Headers(headers).items()


@pytest.mark.parametrize(
    "shaped",
    [
        message_of,
        starlette.datastructures.Headers,
        of_werkzeug,
        lambda given: [(name.upper(), value) for name, value in given.items()],
        # ASGI
        lambda given: [(name.encode(), value.encode()) for name, value in given.items()],
        # AWS Lambda: multiValueHeaders, and what is no text beside ours
        lambda given: {name.title(): [value] for name, value in given.items()} | {"Length": 7},
        lambda given: {name.encode(): value.encode() for name, value in given.items()},
        # two lines of one header
        lambda given: [*given.items(), ("Webhook-Signature", "v1,AAAA")],
    ],
)
def test_headers_of_any_framework_are_taken(shaped: Callable[[dict[str, str]], Any]) -> None:
    body, headers = signed(MESSAGE)
    event = webhooks.unwrap(body.decode(), shaped(headers), SECRET, now=NOW)
    assert isinstance(event, webhooks.MessageEvent)
    assert event.data.reply == "Héllo"


@pytest.mark.parametrize("headers", [None, "webhook-id: evt_1", 7, ["webhook-id"], {7: "a"}])
def test_what_are_no_headers_is_our_mistake(headers: Any) -> None:
    with pytest.raises(TypeError, match="headers, of the type"):
        webhooks.unwrap(b"{}", headers, SECRET, now=NOW)


@pytest.mark.parametrize("payload", [MESSAGE, None, 7])
def test_a_parsed_body_is_our_mistake(payload: Any) -> None:
    with pytest.raises(TypeError, match="give the body as it came"):
        webhooks.unwrap(payload, signed(MESSAGE)[1], SECRET, now=NOW)


@pytest.mark.parametrize(
    ("signers", "accepted"),
    [
        ((SECRET, OLD), [SECRET]),
        ((SECRET, OLD), [OLD]),
        ((SECRET,), [OLD, SECRET]),
        ((OLD,), (OLD, SECRET)),
    ],
)
def test_while_a_secret_is_rotated_either_fits(
    signers: tuple[str, ...], accepted: list[str]
) -> None:
    body, headers = signed(MESSAGE, *signers)
    assert webhooks.unwrap(body, headers, accepted, now=NOW).type == "message.completed"


@pytest.mark.parametrize("off", [-300, 300])
def test_clocks_may_be_five_minutes_apart(off: int) -> None:
    assert webhooks.unwrap(*signed(MESSAGE), SECRET, now=NOW + off)
    with pytest.raises(WebhookRefused, match="301 seconds"):
        webhooks.unwrap(*signed(MESSAGE), SECRET, now=NOW + off + off // 300)
    assert webhooks.unwrap(*signed(MESSAGE), SECRET, now=NOW + 2 * off, tolerance=600)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"webhook-id": "evt_2"}, "No signature"),
        ({"webhook-id": ""}, "webhook-id"),
        ({"webhook-timestamp": str(NOW + 1)}, "No signature"),
        ({"webhook-timestamp": "soon"}, "no number"),
        ({"webhook-timestamp": "9" * 5000}, "no number"),
        ({"webhook-signature": "v1,AAAA"}, "No signature"),
        ({"webhook-signature": "v1,é"}, "No signature"),
        ({"webhook-signature": "v2,AAAA v1"}, "No signature"),
    ],
)
def test_other_headers_are_refused(change: dict[str, str], reason: str) -> None:
    body, headers = signed(MESSAGE)
    with pytest.raises(WebhookRefused, match=reason):
        webhooks.unwrap(body, headers | change, SECRET, now=NOW)


def test_another_body_or_secret_is_refused() -> None:
    body, headers = signed(MESSAGE)
    for changed, secret in ((body + b" ", SECRET), (body, OLD)):
        with pytest.raises(WebhookRefused, match="another secret"):
            webhooks.unwrap(changed, headers, secret, now=NOW)
    with pytest.raises(WebhookRefused, match="webhook-id"):
        webhooks.unwrap(body, {}, SECRET, now=NOW)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!", []])
def test_a_secret_that_is_none_is_our_mistake(secret: Any) -> None:
    body, headers = signed(MESSAGE)
    with pytest.raises(ConfigError, match="secret"):
        webhooks.unwrap(body, headers, secret, now=NOW)


@pytest.mark.parametrize("value", [[1], 7, {"type": "message.completed", "data": {"id": "msg_1"}}])
def test_a_signed_body_that_is_no_event_is_refused(value: Any) -> None:
    with pytest.raises(WebhookRefused, match="no event"):
        webhooks.unwrap(*signed(value), SECRET, now=NOW)


def test_sign_does_what_the_server_does() -> None:
    body, headers = signed(MESSAGE)
    made = webhooks.sign(body, SECRET, event_id="evt_1", timestamp=NOW)
    assert made == {name: headers[name] for name in made}
