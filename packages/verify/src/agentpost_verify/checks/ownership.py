"""What belongs to a key and what to its account (spec: Authentication 4). Needs a second key."""

import pytest

from agentpost_verify.answers import Exchange, Json
from agentpost_verify.probe import Probe
from agentpost_verify.samples import GREETING, Log, page_at


@pytest.fixture(scope="session")
def is_same_account(probe: Probe, second: Probe) -> bool:
    """Whether the other key belongs to the account; skips when it is the same key."""
    ours, theirs = (each.call("GET", "/v1/me").sample() for each in (probe, second))
    if (ours.get("key") or {}).get("id") == (theirs.get("key") or {}).get("id"):
        pytest.skip("--second-key is the same key as --key")
    return bool(ours.get("user_id") == theirs.get("user_id"))


@pytest.fixture(scope="session")
def their_message(probe: Probe, second: Probe, is_same_account: bool, greeting_id: str) -> Exchange:
    """The second key sends what the first one did, under the same Idempotency-Key."""
    body = {"message": GREETING, "conversation": f"verify-{probe.nonce}-second"}
    return second.post(body, probe.key_for("greeting"))


@pytest.mark.usefixtures("is_same_account")
def test_foreign_message(second: Probe, greeting_id: str) -> None:
    """A message is not there for another key. (createMessage 6)"""
    for method, suffix in (("GET", ""), ("GET", "/events"), ("POST", "/recover")):
        second.call(method, f"/v1/messages/{greeting_id}{suffix}").expect("404 not_found")


def test_key_of_its_own(greeting_id: str, their_message: Exchange) -> None:
    """An Idempotency-Key counts for its API key only. (createMessage 2)"""
    assert their_message.expect("201").get("id") != greeting_id, "a new message"


def test_foreign_cursor(second: Probe, their_message: Exchange, greeting_log: Log) -> None:
    """A cursor given to another key is bad_cursor. (Errors)"""
    cursor = greeting_log[1].sample().get("cursor")
    page_at(second, their_message.sample(201)["id"], cursor).expect("400 bad_cursor")


def test_endpoints_of_account(second: Probe, is_same_account: bool, endpoint: Json) -> None:
    """Webhook endpoints belong to the account. (Authentication 4)"""
    expect_in_account(second, is_same_account, f"/v1/webhooks/{endpoint['id']}")


def test_work_of_account(second: Probe, is_same_account: bool, job_done: Json) -> None:
    """Works belong to the account. (Authentication 4)"""
    expect_in_account(second, is_same_account, f"/v1/work/{job_done['jobs'][0]['work_id']}")


def expect_in_account(second: Probe, is_same_account: bool, path: str) -> None:
    """Assert that another key of the account sees a resource, and any other key does not."""
    second.call("GET", path).expect("200" if is_same_account else "404 not_found")
