"""What of a message makes it the same under its idempotency key (design: Idempotency)."""

from dataclasses import fields, replace
from typing import Any

import pytest

from agentpost.messages.idempotency_rules import Attempt
from agentpost.messages.new_messages import NewMessage
from agentpost.messages.rules import WhenBusy
from agentpost.ratelimit.base import RateDecision
from agentpost.uploads.attachments import AttachmentResult, InlineFile

FILE = InlineFile("a.csv", None, "YQ==" * 100, "text/csv")
SAME: dict[str, Any] = {
    "conversation": "other",
    "idempotency_key": "k",
    "metadata": {"a": "b"},
    "traceparent": "00-1",
    "webhook_endpoint_id": "whe_1",
    "conversation_id": "cnv_1",
    "held": False,
    "scheduled": True,
    "wait_seconds": 3,
    "user_id": "usr_1",
    "attempt": Attempt("topic", "body", 0, 0),
    "follows": "msg_1",
    "files": (FILE,),  # their identities are compared
    "usable_schema": {"type": "object"},
    "attached": AttachmentResult(),
    "counted": RateDecision(allowed=True, at=0, remaining=1, reset_at=0, free_at=0),
}
OTHER: dict[str, Any] = {
    "text": "bye",
    "upload_ids": ("up_1",),
    "file_identities": (FILE.identity(),),
    "busy": WhenBusy.QUEUE,
    "max_credits": 0,
    "answer_to": "msg_1",
    "answer": False,
    "response_schema": {},
    "original_hash": "0123456789",
}
MESSAGE = NewMessage("hello")


def test_each_field_is_here() -> None:
    assert {field.name for field in fields(NewMessage)} == {*SAME, *OTHER}


@pytest.mark.parametrize("name", SAME)
def test_what_may_differ_in_a_repeat(name: str) -> None:
    assert replace(MESSAGE, **{name: SAME[name]}).fingerprint() == MESSAGE.fingerprint()


def test_each_other_field_makes_another_message() -> None:
    others = {replace(MESSAGE, **{name: value}).fingerprint() for name, value in OTHER.items()}
    assert len(others - {MESSAGE.fingerprint()}) == len(OTHER)


def test_fingerprints_are_as_those_stored() -> None:
    """A change of them would refuse repeats of calls that an earlier version took."""
    stored = {
        "text": "b49f425a",
        "upload_ids": "0bac225f",
        "file_identities": "03a01d24",
        "busy": "97c6bd0f",
        "max_credits": "90ce32fb",
        "answer_to": "959d8a62",
        "answer": "a3ea6b03",
        "response_schema": "6a802e95",
        "original_hash": "01234567",
    }
    assert {n: replace(MESSAGE, **{n: v}).fingerprint()[:8] for n, v in OTHER.items()} == stored
