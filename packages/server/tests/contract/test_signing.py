"""Signatures by the Standard Webhooks reference library (spec: Webhook events 4, 5)."""

import base64
import hashlib
import hmac
import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from agentpost.webhooks.signing import new_secret, signed_headers

BODY = '{"type":"message.completed","data":{"reply":"Grüße, 世界"}}'.encode()
EVENT = "evt_0123"


@pytest.mark.rule("Webhook events 5")
def test_the_official_vector() -> None:
    headers = signed_headers(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        b'{"test": 2432232314}',
    )
    assert headers == {
        "Content-Type": "application/json",
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.mark.rule("Authentication 7", "Webhook events 5")
def test_a_receiver_can_verify_without_a_library() -> None:
    """By the words of the rule alone."""
    secret = new_secret()
    headers = signed_headers([secret], EVENT, 1_800_000_000, BODY)
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, b"evt_0123.1800000000." + BODY, hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"


@pytest.mark.rule("Webhook events 4")
def test_either_of_two_secrets_verifies() -> None:
    old, new = new_secret(), new_secret()
    headers = signed_headers([new, old], EVENT, int(time.time()), BODY)
    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        assert Webhook(secret).verify(BODY, headers)["type"] == "message.completed"
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(BODY, headers)


@pytest.mark.rule("Authentication 1")
def test_secrets_hold_32_random_bytes() -> None:
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(base64.b64decode(secret.removeprefix("whsec_"))) for secret in secrets} == {32}
