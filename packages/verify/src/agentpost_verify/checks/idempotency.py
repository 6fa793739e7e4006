"""The same order, sent again (spec: createMessage 1, 2)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from agentpost_verify.answers import Exchange
from agentpost_verify.probe import Probe
from agentpost_verify.samples import GREETING, LONG_NAME, LONG_TEXT


def test_replay(probe: Probe, greeting_id: str) -> None:
    """The same key and body give the same message, with 200. (createMessage 2)"""
    expect_again(probe, GREETING, probe.key_for("greeting"), greeting_id)


def test_trimmed(probe: Probe, greeting_id: str) -> None:
    """Blanks around the text don't make it another body. (createMessage 2)"""
    expect_again(probe, f"  {GREETING}\n", probe.key_for("greeting"), greeting_id)


def expect_again(probe: Probe, text: str, key: str, message_id: str) -> None:
    """Assert that a text, sent with that key, is answered with this message and not a new one."""
    body = probe.post({"message": text}, key).expect("200")
    assert body.get("id") == message_id, f"the message {message_id} again"


@pytest.mark.usefixtures("greeting_id")
def test_conflict(probe: Probe) -> None:
    """The same key with another body is idempotency_conflict. (createMessage 2)"""
    body = {"message": f"{GREETING}, again"}
    probe.post(body, probe.key_for("greeting")).expect("409 idempotency_conflict")


def test_without_key(probe: Probe, greeting_id: str) -> None:
    """Without a key every call makes a message. (createMessage 1)"""
    assert probe.send(GREETING).expect("201").get("id") != greeting_id, "a new message"


def test_at_once(probe: Probe) -> None:
    """Of calls at once with one key, one makes the message. (createMessage 2)

    The first may still run when the others come.
    """
    key = probe.key_for("at-once")
    body = {"message": GREETING, "conversation": key[:100]}
    with ThreadPoolExecutor(3) as pool:
        exchanges = list(pool.map(lambda _: probe.post(body, key), range(3)))
    outcomes = sorted(each.outcome for each in exchanges)
    assert outcomes == ["200", "200", "201"], "one 201 and otherwise 200"
    ids = {str(each.expect("200", "201").get("id")) for each in exchanges}
    assert len(ids) == 1, f"one message instead of {sorted(ids)}"


def test_key_is_cut(probe: Probe, long_sent: Exchange) -> None:
    """Only 128 characters of a key are significant. (Limits)"""
    first = long_sent.sample(201)["id"]
    expect_again(probe, LONG_TEXT, probe.key_for(LONG_NAME)[:128], first)
